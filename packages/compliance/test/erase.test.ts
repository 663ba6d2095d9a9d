import { type SimRegister, simRegisterRef, storeCorrupt } from '@steeple/contracts'
import { assert, fakeClock, fakeContext, memoryDb, suite } from '@steeple/testkit'
import { erasureHealth, erasureReconciler } from '../src/erase.ts'
import { MIGRATIONS } from '../src/migrations.ts'
import { type ComplianceParts, complianceCount } from '../src/parts.ts'
import { ERASURES } from '../src/store.ts'

const test = suite('erasures that wait')

const HOUR_MS = 3_600_000
type SimRemains = NonNullable<Awaited<ReturnType<SimRegister['remains']>>>
const WAITS: SimRemains = { state: 'revoked', isUnused: false, waitsFor: 'the HSS' }

function partsWith(remains: (subject: string) => Promise<SimRemains>): ComplianceParts {
  const services = new Map<string, object>([[simRegisterRef.id, { remains }]])
  const db = memoryDb(MIGRATIONS)
  const { context } = fakeContext({ id: 'compliance', config: {}, db, clock: fakeClock(), services })
  return { context, count: complianceCount(context.metrics) }
}

test('a SIM whose row is damaged keeps no other one', async () => {
  const parts = partsWith(async (subject) => {
    if (subject === 'aaaaaaaaaaaa') throw storeCorrupt('sims_sim')
    return WAITS
  })
  const { db, clock } = parts.context
  const subjects = ['aaaaaaaaaaaa', 'bbbbbbbbbbbb']
  for (const subject of subjects)
    await db.write((tx) => ERASURES.insert(tx, { subject, asked_at_ms: clock.nowMs(), asked_by: 'user:ann' }))
  const outcomes = await erasureReconciler(parts).reconcile(subjects, new AbortController().signal)
  if (!(outcomes instanceof Map)) throw new Error('it says of each')
  assert.equal(
    subjects.map((subject) => outcomes.get(subject)?.state),
    ['failed', 'pending'],
  )
})

test('health tells of one that has waited for an hour', async () => {
  const parts = partsWith(async () => WAITS)
  const { db, clock } = parts.context
  for (const [age, status] of [
    [HOUR_MS - 1, 'ok'],
    [HOUR_MS + 1, 'degraded'],
  ] as const) {
    const row = { subject: String(age), asked_at_ms: clock.nowMs() - age, asked_by: 'user:ann' }
    await db.write((tx) => ERASURES.insert(tx, row))
    assert.is((await erasureHealth(parts)).status, status)
  }
})

test.run()
