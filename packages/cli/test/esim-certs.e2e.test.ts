import { createPrivateKey, createPublicKey } from 'node:crypto'
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { assert, suite, tempDir } from '@steeple/testkit'
import { type Answer, fakeService, type Seen } from './fake-service.ts'
import { type Run, svc } from './svc.ts'

const certs = suite('cli/esim-certs')
const ID = 'a'.repeat(64)
const CERT = {
  id: ID,
  role: 'ci',
  curve: 'P-256',
  hosts: [],
  has_key: true,
  revoked: false,
  is_test: false,
  in_use: true,
  not_after: '2040-01-01T00:00:00.000Z',
  subject: 'CN=Test CI',
}

async function against(
  answer: (request: Seen) => Answer,
  args: readonly string[],
): Promise<Run & { readonly seen: readonly Seen[] }> {
  await using service = await fakeService(answer)
  const run = await svc(['esim', 'certs', ...args], {
    env: { SVC_URL: service.url, SVC_TOKEN: 'svc_test' },
  })
  return { ...run, seen: service.seen }
}

function bodyOf<Body>([first]: readonly Seen[]): Body {
  // As this package sent it.
  return (first?.body ?? {}) as Body
}

certs('makes and lists a hierarchy', async () => {
  const made = await against(
    () => ({ status: 201, body: { certs: [CERT] } }),
    ['init', '--host', 'smdp.example.org', '--curve', 'P-256'],
  )
  assert.is(made.code, 0, made.err)
  assert.equal(made.seen[0]?.body, { host: 'smdp.example.org', curves: ['P-256'] })
  assert.match(made.out, /^ci +P-256 +yes +yes /m)
  const list = await against(() => ({ status: 200, body: { certs: [CERT], next_cursor: null } }), ['list'])
  assert.match(list.out, /CN=Test CI/)
  assert.is((await against(() => ({ status: 200, body: {} }), ['show', 'x'])).code, 2)
})

certs('takes a certificate back by its id, or by issuer and serial number', async () => {
  const body = { issuer: 'b'.repeat(40), serial: '0a', revoked: true }
  const named = ['--issuer', 'b'.repeat(40), '--serial', '0a']
  for (const [args, sent] of [
    [[ID], { id: ID }],
    [[ID, '--restore'], { id: ID, restore: true }],
    [named, { issuer: 'b'.repeat(40), serial: '0a' }],
  ] as const) {
    const run = await against(() => ({ status: 200, body }), ['revoke', ...args])
    assert.equal([run.code, run.seen[0]?.path, run.seen[0]?.body], [0, '/v1/esim/certs/revoke', sent])
  }
  for (const args of [[], [ID, ...named], ['--issuer', 'b'.repeat(40)], ['x']])
    assert.is((await against(() => ({ status: 200, body }), ['revoke', ...args])).code, 2)
})

certs('imports files and folders whole', async () => {
  await using place = await tempDir('steeple-certs-')
  await mkdir(join(place.path, 'sub'))
  await writeFile(join(place.path, 'ci.der'), 'one')
  await writeFile(join(place.path, 'sub', 'key.pem'), 'two')
  await writeFile(join(place.path, 'notes.txt'), 'three')
  const { code, seen } = await against(
    () => ({ status: 200, body: { certs: [], unchanged: 0 } }),
    ['import', place.path],
  )
  assert.is(code, 0)
  const { files } = bodyOf<{ files: { name: string; base64: string }[] }>(seen)
  assert.equal(
    files.toSorted((a, b) => a.name.localeCompare(b.name)),
    [
      { name: 'ci.der', base64: 'b25l' },
      { name: 'key.pem', base64: 'dHdv' },
    ],
  )
  const lost = await against(() => ({ status: 200, body: {} }), ['import', join(place.path, 'nope')])
  assert.is(lost.code, 1)
  assert.match(lost.err, /nope cannot be read/)
})

certs('writes a maker of eUICCs with keys that never left this machine', async () => {
  await using place = await tempDir('steeple-certs-')
  const out = join(place.path, 'eum.json')
  const { code, err, seen } = await against(
    () => ({
      status: 201,
      body: { eums: [{ curve: 'P-256', iin: '89999999', ci: 'AA==', eum: 'AQ==' }] },
    }),
    ['lab-eum', '--out', out],
  )
  assert.is(code, 0, err)
  assert.is((await stat(out)).mode & 0o777, 0o600)
  const { eums } = JSON.parse(await readFile(out, 'utf8')) as { eums: { key: string; iin: string }[] }
  const [sent] = bodyOf<{ public_keys: string[] }>(seen).public_keys
  const key = createPrivateKey(eums[0]?.key ?? '')
  assert.is(createPublicKey(key).export({ format: 'der', type: 'spki' }).toString('base64'), sent)
  assert.not.match(JSON.stringify(seen), /PRIVATE/)
})

certs('gives the CI in use as PEM', async () => {
  const spare = { ...CERT, id: 'b'.repeat(64), in_use: false }
  const answer = ({ path }: Seen): Answer =>
    path === '/v1/esim/certs'
      ? { status: 200, body: { certs: [CERT, spare, { ...CERT, role: 'dptls' }], next_cursor: null } }
      : { status: 200, body: { ...CERT, pem: 'PEM\n' } }
  const { code, out, seen } = await against(answer, ['export-ci'])
  assert.equal([code, out, seen.length], [0, 'PEM\n', 2])
  const none = await against(answer, ['export-ci', '--curve', 'brainpoolP256r1'])
  assert.is(none.code, 1)
  assert.match(none.err, /svc esim certs init/)
})

certs.run()
