import { execFile } from 'node:child_process'
import { createHash, createPrivateKey, X509Certificate } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { connect, createServer, type TLSSocket } from 'node:tls'
import { promisify } from 'node:util'
import { fakeClock, suite, type TempDir, tempDir } from '@steeple/testkit'
import * as assert from 'uvu/assert'
import { openSecrets } from '../src/open-secrets.ts'
import { initNode } from '../src/renew-certificate.ts'
import { withFrozenDisk } from './frozen-disk.ts'

const node = suite('secrets/init-node')

const FILES = [
  'audit.key',
  'hnet-1.key',
  'hnet-2.key',
  'jwt.key',
  'mesh-ca.key',
  'mesh-ca.pem',
  'node.json',
  'node.key',
  'node.pem',
  'vault.key',
]
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

let root: TempDir
let count = 0
node.before(async () => {
  root = await tempDir()
})
node.after(() => root.remove())

/** A data directory that does not exist yet. */
function fresh(): string {
  count++
  return join(root.path, `node-${count}`)
}

/** Every file of a keys directory with its bytes. */
function snapshot(dataDir: string): Readonly<Record<string, string>> {
  const keys = join(dataDir, 'keys')
  return Object.fromEntries(readdirSync(keys).map((name) => [name, readFileSync(join(keys, name), 'hex')]))
}

async function refusal(work: () => unknown): Promise<string> {
  try {
    await work()
  } catch (error) {
    assert.is((error as { code?: unknown }).code, 'secrets_invalid')
    return (error as Error).message
  }
  throw new Error('nothing was refused')
}

node('makes no keys beside a store that was sealed under others, and touches nothing', async () => {
  const dataDir = fresh()
  const storeFile = join(dataDir, 'svc.db')
  mkdirSync(dataDir)
  writeFileSync(storeFile, 'a store')
  const said = await refusal(() => initNode({ dataDir, clock: fakeClock(), storeFile }))
  assert.match(said, /svc\.db and no key of it, .*vault\.key; put back the keys directory/)
  assert.equal(readdirSync(dataDir), ['svc.db'])

  writeFileSync(storeFile, '')
  await initNode({ dataDir, clock: fakeClock(), storeFile })
  writeFileSync(storeFile, 'a store')
  const again = await initNode({ dataDir, clock: fakeClock(), storeFile })
  assert.is(again.isNew, false, 'with its keys it is its own')

  // A new one would find the whole audit trail signed by somebody else.
  rmSync(join(dataDir, 'keys/node.json'))
  rmSync(join(dataDir, 'keys/audit.key'))
  const left = readdirSync(join(dataDir, 'keys')).sort()
  const half = await refusal(() => initNode({ dataDir, clock: fakeClock(), storeFile }))
  assert.match(half, /svc\.db and no key of it, .*audit\.key; put back the keys directory/)
  assert.equal(readdirSync(join(dataDir, 'keys')).sort(), left)
})

node('gives a node of before them its home network keys, and keeps those that are on cards', async () => {
  const dataDir = fresh()
  await initNode({ dataDir, clock: fakeClock() })
  const before = snapshot(dataDir)
  const types = ['hnet-1.key', 'hnet-2.key'].map((name) =>
    createPrivateKey(readFileSync(join(dataDir, 'keys', name))),
  )
  assert.equal(
    types.map((key) => key.asymmetricKeyType),
    ['x25519', 'ec'],
  )
  rmSync(join(dataDir, 'keys', 'hnet-2.key'))
  assert.is((await initNode({ dataDir, clock: fakeClock() })).isNew, false)
  const after = snapshot(dataDir)
  assert.equal(Object.keys(after), Object.keys(before))
  assert.is(after['hnet-1.key'], before['hnet-1.key'])
  assert.is(statSync(join(dataDir, 'keys', 'hnet-2.key')).mode & 0o777, 0o600)
})

node('makes every key with mode 0600 in a directory with mode 0700, whatever the umask is', async () => {
  const dataDir = fresh()
  const umask = process.umask(0)
  const clock = fakeClock()
  try {
    const { isNew, secrets } = await initNode({ dataDir, name: 'Box 1', clock })
    assert.is(isNew, true)
    assert.match(secrets.identity.nodeId, UUID)
    assert.is(secrets.identity.name, 'Box 1')
    assert.is(secrets.identity.createdAtMs, clock.nowMs())
  } finally {
    process.umask(umask)
  }
  const keys = join(dataDir, 'keys')
  assert.is(statSync(keys).mode & 0o777, 0o700)
  assert.equal(readdirSync(keys).toSorted(), FILES)
  for (const name of FILES) assert.is(statSync(join(keys, name)).mode & 0o777, 0o600, name)
  assert.is(readFileSync(join(keys, 'vault.key')).length, 32)
  assert.is(readFileSync(join(keys, 'jwt.key')).length, 32)
  assert.match(readFileSync(join(keys, 'mesh-ca.key'), 'utf8'), /^-----BEGIN PRIVATE KEY-----/)
})

node('changes nothing when it runs again, and says so', async () => {
  const dataDir = fresh()
  const clock = fakeClock()
  const first = await initNode({ dataDir, name: 'a', clock })
  const before = snapshot(dataDir)
  await clock.advance(86_400_000)
  const second = await initNode({ dataDir, name: 'b', clock })
  assert.is(second.isNew, false)
  assert.match(second.message, /nothing was changed/)
  assert.is(second.secrets.identity.nodeId, first.secrets.identity.nodeId)
  assert.is(second.secrets.identity.name, 'a')
  assert.equal(snapshot(dataDir), before)
})

node('agrees with itself when it runs several times at once', async () => {
  const dataDir = fresh()
  const results = await Promise.all(
    Array.from({ length: 4 }, () => initNode({ dataDir, clock: fakeClock() })),
  )
  assert.is(new Set(results.map(({ secrets }) => secrets.identity.nodeId)).size, 1)
  assert.equal(readdirSync(join(dataDir, 'keys')).toSorted(), FILES)
})

node('makes a mesh root of ten years that signs certificates and nothing below them', async () => {
  const clock = fakeClock()
  const { secrets } = await initNode({ dataDir: fresh(), clock })
  const ca = new X509Certificate(secrets.caPem)
  assert.is(ca.ca, true)
  assert.ok(ca.verify(ca.publicKey))
  assert.is(ca.publicKey.asymmetricKeyDetails?.namedCurve, 'prime256v1')
  assert.is(secrets.identity.caSha256, createHash('sha256').update(ca.raw).digest('hex'))
  const years = (Date.parse(ca.validTo) - clock.nowMs()) / (365.25 * 86_400_000)
  assert.ok(years > 9.99 && years < 10.01)
  // basicConstraints CA:true pathlen 0 and keyUsage keyCertSign + cRLSign, both critical (RFC 5280 §4.2.1.9, §4.2.1.3).
  const der = ca.raw.toString('hex')
  assert.ok(der.includes('0603551d130101ff040830060101ff020100'))
  assert.ok(der.includes('0603551d0f0101ff040403020106'))
})

node('gives the node a certificate of thirty days in its own name, for both ends of TLS', async () => {
  const clock = fakeClock()
  const { secrets } = await initNode({ dataDir: fresh(), clock, name: 'Mast on the hill' })
  const certificate = secrets.certificate()
  assert.ok(certificate.checkHost('mast-on-the-hill.local'))
  assert.ok(certificate.subjectAltName?.includes(`URI:svc://node/${secrets.identity.nodeId}`))
  assert.ok(certificate.checkHost('localhost'))
  assert.ok(certificate.checkIP('127.0.0.1'))
  assert.ok(certificate.checkIP('::1'))
  assert.equal(certificate.keyUsage, ['1.3.6.1.5.5.7.3.1', '1.3.6.1.5.5.7.3.2'])
  assert.is(certificate.ca, false)
  assert.is(secrets.identity.certificateExpiresAtMs, clock.nowMs() + 30 * 86_400_000)
})

node('makes what TLS accepts on both ends', async () => {
  const now = { nowMs: () => Date.now(), monotonicMs: () => 0 }
  const { secrets } = await initNode({ dataDir: fresh(), clock: now })
  const seen = Promise.withResolvers<string | undefined>()
  const server = createServer(
    { ...secrets.tls(), requestCert: true, rejectUnauthorized: true },
    (socket: TLSSocket) => {
      seen.resolve(socket.getPeerX509Certificate()?.subjectAltName)
      socket.end('hello')
    },
  )
  const done = Promise.withResolvers<string>()
  server.listen(0, '127.0.0.1', () => {
    const port = (server.address() as { port: number }).port
    const client = connect({ ...secrets.tls(), port, host: '127.0.0.1', servername: 'localhost' })
    client
      .setEncoding('utf8')
      .on('data', (text: string) => done.resolve(text))
      .on('error', done.reject)
  })
  assert.is(await done.promise, 'hello')
  assert.ok((await seen.promise)?.includes(secrets.identity.nodeId))
  server.close()
})

node('is completed by the next run after a kill at any point, and leaves nothing behind', async () => {
  let points = 0
  for (; ; points++) {
    const dataDir = fresh()
    const first = await withFrozenDisk(points, () => initNode({ dataDir, clock: fakeClock() }))
    const { secrets, isNew } = await initNode({ dataDir, clock: fakeClock() })
    assert.equal(readdirSync(join(dataDir, 'keys')).toSorted(), FILES, `after ${points} changes`)
    assert.is(openSecrets(dataDir).identity.nodeId, secrets.identity.nodeId)
    rmSync(dataDir, { recursive: true })
    if (!first.isFrozen) {
      assert.is(isNew, false)
      break
    }
  }
  assert.ok(points > 50, `only ${points} points`)
})

node('keeps a vault key that a killed run had made', async () => {
  const dataDir = fresh()
  await withFrozenDisk(40, () => initNode({ dataDir, clock: fakeClock() }))
  const before = readFileSync(join(dataDir, 'keys', 'vault.key'), 'hex')
  await initNode({ dataDir, clock: fakeClock() })
  assert.is(readFileSync(join(dataDir, 'keys', 'vault.key'), 'hex'), before)
})

node('survives a real kill', async () => {
  const script = new URL('./init-child.ts', import.meta.url).pathname
  for (const delayMs of [60, 120, 160, 200]) {
    const dataDir = fresh()
    const child = promisify(execFile)(process.execPath, [script, dataDir], {
      timeout: delayMs,
      killSignal: 'SIGKILL',
    })
    await child.catch(() => undefined)
    const { secrets } = await initNode({ dataDir, clock: fakeClock() })
    assert.is(openSecrets(dataDir).identity.nodeId, secrets.identity.nodeId)
  }
})

node('refuses a keys directory or a key that others can open, with the command that repairs it', async () => {
  const dataDir = fresh()
  await initNode({ dataDir, clock: fakeClock() })
  const keys = join(dataDir, 'keys')
  for (const mode of [0o750, 0o705, 0o711]) {
    chmodSync(keys, mode)
    const said = await refusal(() => openSecrets(dataDir))
    assert.is(said, `${keys} is open to others (mode 0${mode.toString(8)}); run: chmod 700 ${keys}`)
    assert.is(await refusal(() => initNode({ dataDir, clock: fakeClock() })), said)
  }
  chmodSync(keys, 0o700)
  for (const name of FILES) {
    chmodSync(join(keys, name), 0o640)
    const said = await refusal(() => openSecrets(dataDir))
    assert.is(said, `${join(keys, name)} is open to others (mode 0640); run: chmod 600 ${join(keys, name)}`)
    chmodSync(join(keys, name), 0o600)
  }
  openSecrets(dataDir)
})

node('refuses symbolic links, directories and other users', async () => {
  const dataDir = fresh()
  await initNode({ dataDir, clock: fakeClock() })
  const keys = join(dataDir, 'keys')
  const vault = join(keys, 'vault.key')
  renameSync(vault, join(dataDir, 'elsewhere'))
  symlinkSync(join(dataDir, 'elsewhere'), vault)
  assert.is(await refusal(() => openSecrets(dataDir)), `${vault} is a symbolic link; make it a file`)
  rmSync(vault)
  mkdirSync(vault, { mode: 0o700 })
  assert.is(await refusal(() => openSecrets(dataDir)), `${vault} is no file; remove it`)
  rmSync(vault, { recursive: true })
  renameSync(join(dataDir, 'elsewhere'), vault)
  openSecrets(dataDir)
  const other = fresh()
  mkdirSync(other)
  symlinkSync(keys, join(other, 'keys'))
  assert.match(await refusal(() => openSecrets(other)), /is a symbolic link/)
  const getuid = process.getuid
  process.getuid = () => (getuid?.() ?? 0) + 1
  try {
    assert.match(await refusal(() => openSecrets(dataDir)), /belongs to user \d+, not \d+; run: chown \d+ /)
  } finally {
    if (getuid !== undefined) process.getuid = getuid
  }
})

node('says what is missing or damaged and never replaces it', async () => {
  const dataDir = fresh()
  assert.match(await refusal(() => openSecrets(dataDir)), /svc node init/)
  await initNode({ dataDir, clock: fakeClock() })
  const keys = join(dataDir, 'keys')
  // A home network key that is missing is made anew.
  for (const name of FILES.filter((file) => !file.startsWith('hnet'))) {
    const bytes = readFileSync(join(keys, name))
    const write = (content: Uint8Array): void => writeFileSync(join(keys, name), content, { mode: 0o600 })
    write(bytes.subarray(0, 20))
    const said = await refusal(() => openSecrets(dataDir))
    assert.ok(said.includes(name) || said.includes('node.pem'), said)
    // Long enough that chance does not find it: a key file's last two bytes are two letters now and then.
    for (const shown of ['latin1', 'hex', 'base64'] as const)
      assert.not.ok(said.includes(bytes.toString(shown).slice(0, 16)), shown)
    if (name !== 'node.json') {
      rmSync(join(keys, name))
      assert.match(
        await refusal(() => initNode({ dataDir, clock: fakeClock() })),
        new RegExp(`${name} is missing`),
      )
      assert.not.ok(existsSync(join(keys, name)))
    }
    write(bytes)
  }
  openSecrets(dataDir)
})

node('refuses keys and certificates of different nodes', async () => {
  const [one, two] = [fresh(), fresh()]
  await initNode({ dataDir: one, clock: fakeClock() })
  await initNode({ dataDir: two, clock: fakeClock() })
  for (const name of ['mesh-ca.key', 'mesh-ca.pem', 'node.key', 'node.pem', 'node.json']) {
    const mine = readFileSync(join(one, 'keys', name))
    writeFileSync(join(one, 'keys', name), readFileSync(join(two, 'keys', name)), { mode: 0o600 })
    assert.match(await refusal(() => openSecrets(one)), /belong|signed|names another node/)
    writeFileSync(join(one, 'keys', name), mine, { mode: 0o600 })
  }
  openSecrets(one)
})

node('says no key in any message, result or inspection', async () => {
  const dataDir = fresh()
  const result = await initNode({ dataDir, clock: fakeClock() })
  const { inspect } = await import('node:util')
  const said = `${result.message} ${inspect(result, { depth: 6 })} ${JSON.stringify(result)}`
  for (const name of ['vault.key', 'jwt.key', 'audit.key']) {
    const bytes = readFileSync(join(dataDir, 'keys', name))
    assert.not.ok(said.includes(bytes.toString('hex')) || said.includes(bytes.toString('base64')))
  }
  assert.not.match(said, /PRIVATE KEY/)
})

node('refuses a clock that is not set and a name that is none', async () => {
  const dataDir = fresh()
  assert.match(await refusal(() => initNode({ dataDir, clock: fakeClock(0) })), /the clock says 1970-01-01/)
  for (const name of ['', ' a', 'a\nb', 'x'.repeat(65), 'a"b']) {
    assert.match(await refusal(() => initNode({ dataDir, name, clock: fakeClock() })), /name of a node/)
  }
  assert.is((await initNode({ dataDir, name: 'Köln 1', clock: fakeClock() })).secrets.identity.name, 'Köln 1')
})

node.run()
