import type { Vault } from '@steeple/contracts'
import { assert, type FakeClock, fakeClock, fakeContext, memoryDb, suite } from '@steeple/testkit'
import { certificateHealth, countCertificates, renewTls } from '../src/certs/certificates.ts'
import { newHierarchy } from '../src/certs/hierarchy.ts'
import { type CertParts, keepCertificates } from '../src/certs/keep.ts'
import { anyClient } from '../src/certs/sets.ts'
import { certStore } from '../src/certs/store.ts'
import type { EsimConfig } from '../src/config.ts'
import { MIGRATIONS } from '../src/migrations.ts'

const renewal = suite('esim-smdp/certs-renew')
const DAY_MS = 86_400_000
const HOST = 'smdp.example.org'

/** A hierarchy of its own, made when the clock starts; `keyless` as an imported one, whose CI key is elsewhere. */
async function held(
  keyless = false,
): Promise<{ parts: CertParts; clock: FakeClock; metric(role: string): number | undefined }> {
  const clock = fakeClock()
  // The vault is not the subject here: what is sealed is what was given.
  const vault: Vault = {
    keyId: 'k',
    seal: (plain) => Uint8Array.from(plain),
    open: (sealed) => Uint8Array.from(sealed),
    register: () => undefined,
  }
  const config = { enabled: true, certs_dir: '', smdp_address: HOST } as EsimConfig
  const fake = fakeContext({ id: 'esim-smdp', config, clock, db: memoryDb(MIGRATIONS) })
  const certs = await certStore(fake.context, vault)
  const parts: CertParts = { context: fake.context, vault, certs }
  const made = newHierarchy('P-256', HOST, clock.nowMs())
  const kept = made.map((one) => (keyless && one.role === 'ci' ? { ...one, key: undefined } : one))
  await fake.context.mutate(
    { kind: 'user', id: 'a', name: 'a', roles: new Set() },
    'esim_cert.init',
    'x',
    async (tx) => {
      await keepCertificates(tx, parts, kept)
    },
  )
  await certs.reload()
  const count = countCertificates(parts)
  return {
    parts,
    clock,
    metric: (role) => {
      count()
      return fake.metrics.value('svc_esim_smdp_certificate_expires_seconds', { role, curve: 'P-256' })
    },
  }
}

renewal('renews its own DPtls a month before it ends, once, with a new key', async () => {
  const { parts, clock, metric } = await held()
  const { certs } = parts
  const before = certs.tls(anyClient(HOST))
  assert.ok(Math.abs((metric('dptls') ?? 0) - 397 * 86_400) <= 3_600)
  clock.jump(clock.nowMs() + 360 * DAY_MS)
  await renewTls(parts)
  assert.is(certs.tls(anyClient(HOST)), before)
  clock.jump(clock.nowMs() + 10 * DAY_MS)
  await renewTls(parts)
  await renewTls(parts)
  const after = certs.tls(anyClient(HOST))
  assert.ok(before && after && after.id !== before.id && after.key !== before.key)
  assert.is(certs.all().filter(({ row }) => row.role === 'dptls').length, 2)
  assert.ok(Math.abs((metric('dptls') ?? 0) - 397 * 86_400) <= 3_600)
  assert.is(certificateHealth(parts, () => 0)().status, 'ok')
})

renewal('says in time that a DPtls ends which it cannot renew, and that it has ended', async () => {
  const { parts, clock, metric } = await held(true)
  const health = certificateHealth(parts, () => 0)
  assert.equal([health().status, health().detail], ['ok', '1 set'])
  clock.jump(clock.nowMs() + 370 * DAY_MS)
  await renewTls(parts)
  assert.match(health().detail, /^dptls \(P-256\) is valid until 2027-02-01; import a new one before/)
  clock.jump(clock.nowMs() + 30 * DAY_MS)
  assert.match(health().detail, /^dptls \(P-256\) was valid until 2027-02-01; import a new one/)
  assert.ok((metric('dptls') ?? 0) < 0)
  assert.is(parts.certs.tls(anyClient(HOST)), undefined)
  clock.jump(Date.UTC(2040, 0, 1))
  assert.match(health().detail, /no complete and valid set/)
  assert.is(parts.certs.identities().length, 0)
})

renewal('issues nothing by a clock that is not believed', async () => {
  const { parts, clock } = await held()
  clock.jump(clock.nowMs() + 380 * DAY_MS)
  const doubting = {
    ...parts,
    context: Object.create(parts.context, {
      clock: { value: { ...clock, nowMs: clock.nowMs, doubt: () => 'it jumped' } },
    }),
  }
  await renewTls(doubting)
  assert.is(parts.certs.all().filter(({ row }) => row.role === 'dptls').length, 1)
})

renewal.run()
