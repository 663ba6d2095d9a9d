import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { assert, suite, tempDir } from '@steeple/testkit'
import { type Answer, type FakeService, fakeService, type Seen } from './fake-service.ts'
import { type Run, svc } from './svc.ts'

const login = suite('cli/login')
const HOUR_MS = 3_600_000

/** What a login or a refresh answers: the token that ends so much later than now, and a cookie. */
function session(token: string, cookie: string, livesMs = HOUR_MS): Answer {
  const body = {
    token,
    token_type: 'Bearer',
    expires_at: new Date(Date.now() + livesMs).toISOString(),
    roles: ['viewer'],
  }
  return { body, headers: { 'set-cookie': `svc_refresh=${cookie}; Path=/v1/auth; HttpOnly` } }
}

interface Desk {
  readonly service: FakeService
  readonly file: string
  run(
    args: readonly string[],
    more?: { readonly input?: string; readonly env?: Record<string, string> },
  ): Promise<Run>
}

/** A service, and an account whose commands speak to it without any token. */
async function desk(
  answer: (request: Seen, before: number) => Answer,
  use: (at: Desk) => Promise<void>,
): Promise<void> {
  await using home = await tempDir()
  await using service = await fakeService(answer)
  const env = { SVC_URL: service.url, HOME: home.path, XDG_CONFIG_HOME: '' }
  await use({
    service,
    file: join(home.path, '.config', 'svc', 'session.json'),
    run: (args, more = {}) => svc(args, { ...more, env: { ...env, ...more.env } }),
  })
}

const sentTo = (seen: FakeService['seen'], path: string): readonly Seen[] =>
  seen.filter((request) => request.path === path)

login('keeps a session for the commands that follow, and ends it', async () => {
  const answer = ({ path }: Seen): Answer => {
    if (path === '/v1/auth/login') return session('the.jwt', 'first')
    return path === '/v1/auth/logout' ? { status: 204 } : { body: {} }
  }
  await desk(answer, async ({ service, file, run }) => {
    const entered = await run(['login', 'ada', '--json'], { input: 'her password\n123456\n' })
    assert.is(entered.code, 0, entered.err)
    assert.equal(service.seen[0]?.body, { username: 'ada', password: 'her password', code: '123456' })
    assert.is(service.seen[0]?.headers.authorization, undefined)
    assert.is(statSync(file).mode & 0o777, 0o600)
    assert.not.match(entered.out + readFileSync(file, 'utf8'), /her password/)
    assert.not.match(entered.out, /the\.jwt|first/)
    await run(['status'])
    assert.is(sentTo(service.seen, '/v1/status')[0]?.headers.authorization, 'Bearer the.jwt')
    const who = JSON.parse((await run(['whoami', '--json'])).out) as Readonly<Record<string, unknown>>
    assert.equal([who.by, who.name], ['session', 'ada'])
    await run(['status'], { env: { SVC_TOKEN: 'svc_own' } })
    assert.is(sentTo(service.seen, '/v1/status')[1]?.headers.authorization, 'Bearer svc_own')
    assert.is((await run(['logout'])).code, 0)
    assert.is(sentTo(service.seen, '/v1/auth/logout')[0]?.headers.cookie, 'svc_refresh=first')
    assert.not.ok(existsSync(file))
    assert.match((await run(['whoami'])).err, /no credential/)
  })
})

login('exchanges a token that is about to end once, however many commands need it', async () => {
  const answer = ({ path }: Seen): Answer => {
    if (path === '/v1/auth/login') return session('old.jwt', 'first', 1_000)
    return path === '/v1/auth/refresh' ? session('new.jwt', 'second') : { body: {} }
  }
  await desk(answer, async ({ service, run }) => {
    await run(['login', 'ada'], { input: 'her password\n123456\n' })
    await Promise.all([run(['status']), run(['status']), run(['status'])])
    const exchanges = sentTo(service.seen, '/v1/auth/refresh')
    assert.equal(
      exchanges.map(({ headers }) => headers.cookie),
      ['svc_refresh=first'],
    )
    const tokens = sentTo(service.seen, '/v1/status').map(({ headers }) => headers.authorization)
    assert.equal(tokens, ['Bearer new.jwt', 'Bearer new.jwt', 'Bearer new.jwt'])
  })
})

login('says when a session is over, and shows it to no other service', async () => {
  const refused: Answer = { status: 401, body: { error: { code: 'unauthenticated', message: 'over' } } }
  const answer = ({ path }: Seen): Answer => {
    if (path === '/v1/auth/login') return session('old.jwt', 'first', 1_000)
    return path === '/v1/auth/refresh' ? refused : { body: {} }
  }
  const other = await fakeService(() => ({ body: {} }))
  await desk(answer, async ({ file, run }) => {
    await run(['login', 'ada'], { input: 'her password\n123456\n' })
    await run(['status', '--url', other.url])
    assert.equal(
      other.seen.map(({ headers }) => [headers.authorization, headers.cookie]),
      [[undefined, undefined]],
    )
    const { code, err } = await run(['status'])
    assert.is(code, 1)
    assert.match(err, /session of ada is over.*svc login ada/s)
    assert.not.ok(existsSync(file))
  })
  await other.close()
})

login('says what the service says of a failed login, and keeps nothing', async () => {
  const refused: Answer = {
    status: 401,
    body: { error: { code: 'login_failed', message: 'the login failed' } },
  }
  await desk(
    () => refused,
    async ({ file, run }) => {
      const { code, err } = await run(['login', 'ada', '--json'], { input: 'her password\n123456\n' })
      assert.equal([code, JSON.parse(err).error.code], [1, 'login_failed'])
      assert.not.ok(existsSync(file))
    },
  )
})

login.run()
