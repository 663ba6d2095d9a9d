import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert, suite, tempDir } from '@steeple/testkit'
import { type Answer, type FakeService, fakeService, type Seen } from './fake-service.ts'
import { type Run, svc } from './svc.ts'

const user = suite('cli/user')
const ID = '11111111-2222-4333-8444-555555555555'
const URI = 'otpauth://totp/box:zoe?secret=JBSWY3DPEHPK3PXP'
const NEW = {
  id: ID,
  name: 'zoe',
  roles: ['operator'],
  totp_uri: URI,
  recovery_codes: ['aaaa-bbbb-cccc-dddd', 'eeee-ffff-gggg-hhhh'],
  password: 'drawn-password',
}

/** Runs a command against a service that answers so; users are listed with Zoe alone. */
async function against(
  answer: (request: Seen) => Answer,
  args: readonly string[],
  options: { readonly env?: Readonly<Record<string, string>>; readonly input?: string } = {},
): Promise<Run & { readonly changes: FakeService['seen'] }> {
  await using service = await fakeService((request) =>
    request.method === 'GET' && request.path === '/v1/users'
      ? { body: { users: [{ id: ID, name: 'Zoe', roles: ['operator'] }], next_cursor: null } }
      : answer(request),
  )
  const env = { SVC_URL: service.url, SVC_TOKEN: 'svc_test', ...options.env }
  const run = await svc(args, { ...options, env })
  return { ...run, changes: service.seen.filter(({ method }) => method !== 'GET') }
}

user('shows what a new person needs once: password, code to scan, recovery codes', async () => {
  const add = ['user', 'add', 'zoe', '--role', 'operator,viewer']
  const { code, out, err, changes } = await against(() => ({ status: 201, body: NEW }), add)
  assert.is(code, 0, err)
  assert.equal(changes[0]?.body, { name: 'zoe', roles: ['operator', 'viewer'] })
  for (const shown of ['drawn-password', URI, '█', ...NEW.recovery_codes])
    assert.ok(out.includes(shown), shown)
  assert.match(err, /shown once/)
  const asJson = await against(() => ({ status: 201, body: NEW }), [...add, '--json'])
  assert.equal(JSON.parse(asJson.out), NEW)
})

user('shows the link of an invitation, whose token is sent to nobody', async () => {
  const answer = {
    id: ID,
    name: 'zoe',
    roles: ['viewer'],
    expires_at: '2026-01-01T00:00:00.000Z',
    token: 'svci_t',
  }
  const invite = ['user', 'invite', 'zoe', '--role', 'viewer', '--json']
  const { out, code } = await against(() => ({ status: 201, body: answer }), invite)
  assert.is(code, 0)
  assert.match(JSON.parse(out).url, /^http:\/\/127\.0\.0\.1:\d+\/v1\/auth\/invitation#svci_t$/)
})

user('takes a password from standard input, never from the command line', async () => {
  const add = ['user', 'add', 'zoe', '--role', 'viewer', '--password-stdin']
  const { changes } = await against(() => ({ status: 201, body: NEW }), add, { input: 'a long password\n' })
  assert.equal(changes[0]?.body, { name: 'zoe', roles: ['viewer'], password: 'a long password' })
  const accepted = await against(() => ({ status: 201, body: NEW }), ['user', 'accept'], {
    input: 'svci_token\na long password\n',
  })
  assert.is(changes[0]?.path, '/v1/users')
  assert.equal(accepted.changes[0]?.body, { token: 'svci_token', password: 'a long password' })
  const elsewhere = await fakeService(() => ({ status: 201, body: NEW }))
  const link = `${elsewhere.url}/v1/auth/invitation#svci_token`
  const followed = await against(() => ({}), ['user', 'accept'], { input: `${link}\na long password\n` })
  await elsewhere.close()
  assert.is(followed.code, 0, followed.err)
  assert.is(followed.changes.length, 0)
  const [asked] = elsewhere.seen
  assert.equal(
    [asked?.path, asked?.body],
    ['/v1/auth/invitation', { token: 'svci_token', password: 'a long password' }],
  )
  assert.is(asked?.headers.authorization, undefined, 'who has made the link gets no credential')
  const shown = await against(() => ({ status: 201, body: NEW }), ['user', 'accept', 'svci_token'], {
    input: 'a long password\n',
  })
  assert.match(shown.err, /process list/)
  for (const bad of ['https://box/v1/auth/invitation', 'ftp://box/#svci_token', 'https://box/#other']) {
    const refused = await against(() => ({}), ['user', 'accept'], { input: `${bad}\na long password\n` })
    assert.equal([refused.code, refused.changes.length], [2, 0], bad)
  }
  const missing = await against(() => ({}), ['user', 'accept'], { input: 'svci_token\n' })
  assert.equal([missing.code, missing.changes.length], [2, 0])
})

user('finds people by their names, whatever the capitals', async () => {
  const sent = async (...args: readonly string[]) => {
    const { changes, err } = await against(() => ({ body: {} }), ['user', ...args])
    return changes.map(({ method, path, query, body }) => [method, path, query, body])[0] ?? err
  }
  const path = `/v1/users/${ID}`
  assert.equal(await sent('remove', 'ZOE', '--force'), ['DELETE', path, { force: 'true' }, undefined])
  assert.equal(await sent('roles', 'zoe', 'viewer', 'sim:issuer'), [
    'POST',
    `${path}/roles`,
    {},
    { roles: ['viewer', 'sim:issuer'] },
  ])
  assert.equal(await sent('reset', 'zoe'), ['POST', `${path}/reset`, {}, undefined])
  assert.equal(await sent('uncert', 'zoe', 'ab12'), ['DELETE', `${path}/certificates/ab12`, {}, undefined])
  assert.match(String(await sent('remove', 'nobody')), /no user "nobody".*svc user list/s)
})

user('draws recovery codes against password and code, which stand on no command line', async () => {
  const path = '/v1/auth/recovery-codes'
  const recovery_codes = NEW.recovery_codes
  const input = 'her password\n123456\n'
  const answer = ({ method }: Seen): Answer => ({
    body: method === 'GET' ? { left: 7 } : { recovery_codes },
  })
  const left = await against(answer, ['recovery', 'left'])
  assert.equal([left.code, left.changes.length], [0, 0], left.err)
  assert.match(left.out, /^left +7$/m)
  const { code, out, err, changes } = await against(answer, ['recovery', 'new'], { input })
  assert.is(code, 0, err)
  assert.equal(
    changes.map(({ path: sent, body }) => [sent, body]),
    [[path, { password: 'her password', code: '123456' }]],
  )
  for (const shown of recovery_codes) assert.ok(out.includes(shown))
  assert.match(err, /shown once/)
  assert.not.match(out + err, /her password/)
  const asJson = await against(answer, ['recovery', 'new', '--json'], { input })
  assert.equal(JSON.parse(asJson.out), { recovery_codes })
})

user('makes the key of a certificate here, and keeps key and archive from others', async () => {
  await using folder = await tempDir()
  const answer = (): Answer => ({
    status: 201,
    body: { name: 'Zoe', serial: 'ab', certificate_pem: 'CERT', ca_pem: 'CA' },
  })
  writeFileSync(join(folder.path, 'Zoe.key'), 'old', { mode: 0o644 })
  const args = ['user', 'cert', 'zoe', '--out', folder.path, '--expires-in', '1h', '--label', 'here']
  const { code, out, err, changes } = await against(answer, args)
  assert.is(code, 0, err)
  const { csr_pem, ...rest } = (changes[0]?.body ?? {}) as Readonly<Record<string, unknown>>
  assert.match(String(csr_pem), /^-----BEGIN CERTIFICATE REQUEST-----/)
  assert.equal(rest, { expires_in: '1h', label: 'here' })
  const key = readFileSync(join(folder.path, 'Zoe.key'), 'utf8')
  assert.match(key, /^-----BEGIN PRIVATE KEY-----/)
  for (const file of ['Zoe.key', 'Zoe.pem', 'Zoe-ca.pem'])
    assert.is(statSync(join(folder.path, file)).mode & 0o777, 0o600, file)
  assert.not.ok(existsSync(join(folder.path, 'Zoe.p12')))
  assert.not.ok(
    `${out}${err}${JSON.stringify(changes)}`.includes(key.split('\n')[1] ?? ''),
    'the key is shown',
  )
  assert.ok(String(csr_pem).length < 1_000)
})

user('needs a key with a certificate, and sends neither beside a token or without TLS', async () => {
  const half = await against(() => ({ body: {} }), ['user', 'list'], { env: { SVC_CERT: '/nowhere' } })
  // Over plain HTTP there is nobody to show a certificate to.
  assert.is(half.code, 0, half.err)
  const tls = { SVC_URL: 'https://127.0.0.1:1', SVC_TOKEN: '' }
  const alone = await svc(['user', 'list'], { env: { ...tls, SVC_CERT: '/nowhere' } })
  assert.equal([alone.code, /needs its key/.test(alone.err)], [2, true], alone.err)
  const unread = await svc(['user', 'list'], {
    env: { ...tls, SVC_CERT: '/nowhere/cert.pem', SVC_KEY: '/nowhere/key.pem' },
  })
  assert.match(unread.err, /\/nowhere\/cert\.pem cannot be read/)
})

user.run()
