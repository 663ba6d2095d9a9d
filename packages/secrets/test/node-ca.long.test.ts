import { generateKeyPairSync, verify, X509Certificate } from 'node:crypto'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Membership } from '@steeple/contracts'
import { fakeClock, suite, type TempDir, tempDir } from '@steeple/testkit'
import fc from 'fast-check'
import * as assert from 'uvu/assert'
import { openNodeCa, openNodeCredentials } from '../src/node-credentials.ts'
import { openSecrets } from '../src/open-secrets.ts'
import { initNode } from '../src/renew-certificate.ts'
import { createRequest } from '../src/x509.ts'
import { withFrozenDisk } from './frozen-disk.ts'

const DAY_MS = 86_400_000
const mesh = suite('secrets/mesh')
let root: TempDir
let count = 0
mesh.before(async () => {
  root = await tempDir()
})
mesh.after(() => root.remove())

async function box(): Promise<{ dataDir: string } & Awaited<ReturnType<typeof initNode>>> {
  count += 1
  const dataDir = join(root.path, `box-${count}`)
  return { dataDir, ...(await initNode({ dataDir, clock: fakeClock() })) }
}

/** What the root gives the member. */
async function membership(at: Awaited<ReturnType<typeof box>>, of: typeof at): Promise<Membership> {
  const clock = fakeClock()
  const authority = openNodeCa(at.secrets, clock)
  const publicKey = await authority.readRequest(await openNodeCredentials(of.secrets).request(), [])
  const { nodeId } = of.secrets.identity
  const { pem } = await authority.issue({
    publicKey,
    commonName: nodeId,
    uri: `svc://node/${nodeId}`,
    notAfterMs: clock.nowMs() + 30 * DAY_MS,
  })
  return {
    meshName: 'valley',
    rootUrl: 'https://192.0.2.1:8443',
    rootNodeId: at.secrets.identity.nodeId,
    caPem: authority.caPem,
    certificatePem: pem,
    overlayAddress: '100.64.0.2',
    joinedAtMs: clock.nowMs(),
  }
}

function codeOf(error: unknown): string {
  return String((error as { readonly code?: unknown }).code ?? error)
}

async function refused(work: () => unknown): Promise<string | undefined> {
  try {
    await work()
    return undefined
  } catch (error) {
    return codeOf(error)
  }
}

mesh('keeps a membership over a restart, and forgets it', async () => {
  const [first, second] = [await box(), await box()]
  const identity = openNodeCredentials(second.secrets)
  let told = 0
  const stop = identity.onChange(() => {
    told += 1
  })
  assert.is(identity.membership(), undefined)
  assert.is(identity.tls().cert, second.secrets.tls().cert)
  const joined = await membership(first, second)
  await identity.adopt(joined)
  assert.is(told, 1)
  const again = openNodeCredentials(openSecrets(second.dataDir))
  assert.equal(again.membership(), joined)
  assert.is(again.tls().cert, joined.certificatePem)
  assert.equal(again.tls().trusted, [second.secrets.caPem, first.secrets.caPem])
  assert.is(statSync(join(second.dataDir, 'keys/mesh/mesh.json')).mode & 0o777, 0o600)
  assert.not.ok(readFileSync(join(second.dataDir, 'keys/mesh/mesh.json'), 'utf8').includes('PRIVATE'))
  stop()
  // For `--ca`: what this box serves from now on is below it.
  const caFile = join(second.dataDir, 'keys/mesh/ca.pem')
  assert.is(readFileSync(caFile, 'utf8'), joined.caPem)
  await identity.forget()
  assert.not.ok(existsSync(caFile))
  assert.is(told, 1)
  assert.is(identity.membership(), undefined)
  assert.is(openNodeCredentials(openSecrets(second.dataDir)).membership(), undefined)
})

mesh('takes no membership of another node, or from a CA that did not sign it', async () => {
  const [first, second, third] = [await box(), await box(), await box()]
  const identity = openNodeCredentials(second.secrets)
  const own = await membership(first, second)
  const wrong = [
    await membership(first, third),
    { ...own, caPem: third.secrets.caPem },
    { ...own, caPem: 'none' },
    { ...own, caPem: second.secrets.tls().cert },
  ]
  for (const one of wrong) assert.is(await refused(() => identity.adopt(one)), 'secrets_invalid')
  assert.is(identity.membership(), undefined)
  await identity.adopt(own)
  writeFileSync(join(second.dataDir, 'keys/mesh/mesh.json'), '{"mesh_name": "valley"}')
  assert.is(await refused(() => openNodeCredentials(openSecrets(second.dataDir))), 'secrets_invalid')
})

mesh('is a member or is not, wherever a kill comes', async () => {
  const [first, second] = [await box(), await box()]
  const joined = await membership(first, second)
  const found = (): Membership | undefined => openNodeCredentials(openSecrets(second.dataDir)).membership()
  const at = async (work: () => Promise<void>, before: typeof joined | undefined, after: typeof before) => {
    for (let changes = 0; ; changes += 1) {
      const { isFrozen } = await withFrozenDisk(changes, () => work().catch(() => undefined))
      const now = found()
      if (!isFrozen) return assert.equal(now, after)
      assert.ok(now === undefined ? before === undefined || after === undefined : true)
      if (now !== undefined) assert.equal(now.overlayAddress, (before ?? after)?.overlayAddress ?? '')
    }
  }
  await at(() => openNodeCredentials(second.secrets).adopt(joined), undefined, joined)
  await at(() => openNodeCredentials(second.secrets).forget(), joined, undefined)
})

mesh('signs as the node', async () => {
  const { secrets } = await box()
  const octets = Buffer.from('nonce')
  const signature = openNodeCredentials(secrets).sign(octets)
  assert.ok(verify('sha256', octets, new X509Certificate(secrets.tls().cert).publicKey, signature))
})

mesh('reads the key of a request, and of no other kind of key', async () => {
  const authority = openNodeCa((await box()).secrets, fakeClock())
  const pem = (type: 'P-256' | 'P-384'): string =>
    generateKeyPairSync('ec', { namedCurve: type })
      .privateKey.export({ format: 'pem', type: 'pkcs8' })
      .toString()
  const good = await createRequest(pem('P-256'), 'x')
  assert.is((await authority.readRequest(good, [])).length, 91)
  const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
  const wish = { commonName: 'x', uri: 'svc://node/x', notAfterMs: 1 }
  const der = publicKey.export({ format: 'der', type: 'spki' })
  assert.is(await refused(() => authority.issue({ ...wish, publicKey: der })), 'validation_failed')
})

mesh('refuses a request in which any bit was changed, or takes it for the same key', async () => {
  const { secrets } = await box()
  const authority = openNodeCa(secrets, fakeClock())
  const good = await openNodeCredentials(secrets).request()
  const key = Buffer.from(await authority.readRequest(good, [])).toString('hex')
  const der = Buffer.from(good.replace(/-----[^-]+-----/g, ''), 'base64')
  await fc.assert(
    fc.asyncProperty(fc.nat(der.length * 8 - 1), async (bit) => {
      const bad = Buffer.from(der)
      bad[bit >> 3] = (bad[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      const pem = `-----BEGIN CERTIFICATE REQUEST-----\n${bad.toString('base64')}\n-----END CERTIFICATE REQUEST-----\n`
      const outcome = await authority.readRequest(pem, []).then(
        (found) => Buffer.from(found).toString('hex'),
        (error: unknown) => codeOf(error),
      )
      assert.ok(outcome === 'validation_failed' || outcome === key, outcome)
    }),
    { numRuns: 300 },
  )
})

mesh('takes text that is no request for none, whatever it is', async () => {
  const authority = openNodeCa((await box()).secrets, fakeClock())
  const wrap = (octets: Uint8Array): string =>
    `-----BEGIN CERTIFICATE REQUEST-----\n${Buffer.from(octets).toString('base64')}\n-----END CERTIFICATE REQUEST-----\n`
  const texts = fc.oneof(
    fc.string(),
    fc.uint8Array({ maxLength: 600 }).map(wrap),
    fc.constant('x'.repeat(9_000)),
  )
  await fc.assert(
    fc.asyncProperty(texts, async (text) => {
      assert.is(await refused(() => authority.readRequest(text, [])), 'validation_failed')
    }),
    { numRuns: 200 },
  )
})

mesh('signs lists of revoked certificates that only this CA can have signed', async () => {
  const [first, second, third] = [await box(), await box(), await box()]
  const authority = openNodeCa(first.secrets, fakeClock())
  const identity = openNodeCredentials(second.secrets)
  await identity.adopt(await membership(first, second))
  for (const number of [0, 1, 127, 128, 255, 256, 65_535, 2 ** 31, 2 ** 48]) {
    const list = [
      { serial: 'a1', revokedAtMs: 1_000 },
      { serial: '8f00', revokedAtMs: 2_000 },
      { serial: '102', revokedAtMs: 3_000 },
    ].slice(0, number % 4)
    const pem = await authority.signRevocations(list, { number, thisUpdateMs: 1_000, nextUpdateMs: 9_000 })
    assert.equal(await identity.readRevocations(pem), { number, list })
  }
  const of = { number: 7, thisUpdateMs: 1_000, nextUpdateMs: 9_000 }
  const foreign = await openNodeCa(third.secrets, fakeClock()).signRevocations([], of)
  const own = await authority.signRevocations([{ serial: 'a1', revokedAtMs: 1_000 }], of)
  const der = Buffer.from(own.replace(/-----[^-]+-----/g, ''), 'base64')
  der[der.length - 3] = (der[der.length - 3] ?? 0) ^ 1
  const changed = `-----BEGIN X509 CRL-----\n${der.toString('base64')}\n-----END X509 CRL-----\n`
  for (const pem of [foreign, changed, 'none', own.replace('CRL', 'LRC')])
    assert.is(await refused(() => identity.readRevocations(pem)), 'validation_failed')
})

mesh("lets a person's certificate be no server's", async () => {
  const { secrets } = await box()
  const clock = fakeClock()
  const authority = openNodeCa(secrets, clock)
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const wish = {
    publicKey: publicKey.export({ format: 'der', type: 'spki' }),
    commonName: 'anna',
    notAfterMs: clock.nowMs() + DAY_MS,
  }
  const usages = async (uri: string) =>
    new X509Certificate((await authority.issue({ ...wish, uri })).pem).keyUsage
  assert.equal(await usages('svc://cli/anna'), ['1.3.6.1.5.5.7.3.2'])
  assert.equal(await usages(`svc://node/${secrets.identity.nodeId}`), [
    '1.3.6.1.5.5.7.3.1',
    '1.3.6.1.5.5.7.3.2',
  ])
})

mesh.run()
