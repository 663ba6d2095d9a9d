import type { ClientCertificate } from '@steeple/contracts'
import { assert, fakeClock, memoryDb, suite } from '@steeple/testkit'
import { nodeCertificates } from '../../src/enroll/enrollment.ts'
import { type MemberList, openMemberList } from '../../src/enroll/member-list.ts'
import type { EnrollParts } from '../../src/enroll/parts.ts'
import { MIGRATIONS } from '../../src/enroll/store.ts'

const instances = suite('mesh/instances')
const OWN = { nodeId: '00000000-0000-4000-8000-000000000001', name: 'root' }
const BOX = '00000000-0000-4000-8000-000000000002'
const CA = 'a'.repeat(64)

/** Two instances of one root on one store, as PostgreSQL has them. */
async function two() {
  const clock = fakeClock(Date.UTC(2026, 5, 15, 12))
  const db = memoryDb(MIGRATIONS)
  const options = { db, clock, subnet: '100.64.0.0/16', own: OWN }
  const [a, b] = [await openMemberList(options), await openMemberList(options)]
  const nowMs = clock.nowMs()
  const certificate = {
    ...{ serial: 'abc1', node_id: BOX, pem: '', issued_at_ms: nowMs, expires_at_ms: nowMs + 86_400_000 },
    revoked_at_ms: null,
  }
  const row = await db.write((tx) =>
    a.admit(tx, { nodeId: BOX, name: 'box', keySha256: 'k', address: null, certificate }),
  )
  return { db, a, b, row }
}

const SHOWN: ClientCertificate = { serial: 'abc1', name: BOX, caSha256: CA, notAfterMs: 9e15 }

instances('see whom another one has let in and put out', async () => {
  const { db, a, b, row } = await two()
  let told = 0
  b.changes.listen(() => {
    told += 1
  })
  await b.follow()
  await b.follow()
  assert.equal([b.member(BOX)?.name, b.certificate('abc1')?.isRevoked, told], ['box', false, 1])
  await db.write((tx) => a.expel(tx, row))
  await b.follow()
  assert.equal([b.members().length, b.certificate('abc1')?.isRevoked, told], [1, true, 2])
  assert.is(b.revision(), a.revision())
})

instances('believe no certificate that another one has revoked, from that moment on', async () => {
  const { db, a, b, row } = await two()
  const shared = { dialect: 'postgres', get: db.get, all: db.all }
  const holderAt = (memberList: MemberList) =>
    nodeCertificates({
      context: { config: { enabled: true }, db: shared },
      identity: { membership: () => undefined },
      authority: { caSha256: CA },
      ...{ node: OWN, memberList },
      // What the question does not touch is left out.
    } as unknown as EnrollParts).holderOf(SHOWN)
  assert.is((await holderAt(b))?.id, BOX)
  await db.write((tx) => a.expel(tx, row))
  const refusal = await holderAt(b).then(
    () => 'none',
    (error: unknown) => Reflect.get(Object(error), 'code'),
  )
  assert.is(refusal, 'certificate_revoked')
})

instances.run()
