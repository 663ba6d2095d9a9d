import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert, suite } from '@steeple/testkit'
import { totpAt } from '../harness/people.ts'
import { runSvc, type Service, startService } from '../harness/service.ts'

const first = suite('e2e/first-person', { limitMs: 600_000 })

interface Shown {
  readonly password: string
  readonly totp_uri: string
  readonly recovery_codes: readonly string[]
}

let dataDir: string
let service: Service | undefined

first.before(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'steeple-person-'))
})
first.after(async () => {
  await service?.stop()
  rmSync(dataDir, { recursive: true, force: true })
})

const offline = (...args: readonly string[]) =>
  runSvc(['user', ...args, '--offline', '--data-dir', dataDir], {})

/** The status of a login, and the token that it gave. */
async function login(at: Service, username: string, password: string, code: string) {
  const body = { username, password, code }
  const answer = await at.request('POST', '/v1/auth/login', { token: undefined, body })
  return { status: answer.status, token: String(answer.body.token) }
}

first('is made on the box without any credential while the service does not run', async () => {
  await (await startService({ dataDir, env: { SVC_ADMIN_TOKEN: undefined } })).stop()
  const made = await offline('add', 'ada', '--role', 'admin', '--json')
  assert.is(made.code, 0, made.stderr)
  const shown = JSON.parse(made.stdout) as Shown
  assert.is(shown.recovery_codes.length, 10)
  service = await startService({ dataDir, env: { SVC_ADMIN_TOKEN: undefined } })
  const { status, token } = await login(service, 'ada', shown.password, totpAt(shown.totp_uri, Date.now()))
  assert.is(status, 200)
  const audit = await service.request('GET', '/v1/audit?action=user.create', { token })
  assert.equal(
    audit.body.entries.map(({ principal }: { readonly principal: { readonly id: string } }) => principal.id),
    ['svc user'],
  )
  const meanwhile = await offline('add', 'eve', '--role', 'admin', '--json')
  assert.is(meanwhile.code, 1)
  assert.match(meanwhile.stderr, /data_dir_in_use/)
  await service.stop()
  service = undefined
})

first('gets in again where every other way in is lost, and the old one is over', async () => {
  const made = await offline('add', 'ivo', '--role', 'admin', '--json')
  const before = JSON.parse(made.stdout) as Shown
  const again = await offline('reset', 'ivo', '--json')
  assert.is(again.code, 0, again.stderr)
  const { password, recovery_codes } = JSON.parse(again.stdout) as Shown
  service = await startService({ dataDir, env: { SVC_ADMIN_TOKEN: undefined } })
  const [old = '', code = ''] = [before.recovery_codes[0], recovery_codes[0]]
  assert.is((await login(service, 'ivo', before.password, old)).status, 401)
  assert.is((await login(service, 'ivo', password, old)).status, 401)
  assert.is((await login(service, 'ivo', password, code)).status, 200)
  assert.is((await login(service, 'ivo', password, code)).status, 401)
  await service.stop()
  service = undefined
})

first('is refused with what the schema of the route refuses', async () => {
  for (const args of [
    ['add', 'no blanks', '--role', 'admin'],
    ['add', 'bob', '--role', 'king'],
    ['add', 'ADA', '--role', 'admin'],
    ['reset', 'nobody'],
  ]) {
    const { code, stderr } = await offline(...args, '--json')
    assert.is(code, 1, args.join(' '))
    assert.match(stderr, /validation_failed|user_exists|user_not_found/)
  }
})

first.run()
