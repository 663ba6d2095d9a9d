import { assert, cpuMs, fakeMetrics, memoryDb, suite } from '@steeple/testkit'
import { MIGRATIONS } from '../src/migrations.ts'
import { simCounters } from '../src/states/change.ts'
import { SIM_STATES } from '../src/store/sim-store.ts'

const counters = suite('sims/counters', { limitMs: 600_000 })
const SIMS = 100_000
/** What counting 100,000 SIMs anew may cost; 20 ms are usual. It is done each half minute. */
const MOST_CPU_MS = 250
/** A row for each number, in state and with the provisioning that it says. */
const FILL = `with recursive n(i) as (select 0 union all select i + 1 from n where i < ${SIMS - 1})
  insert into sims_sim (hash, plmn, profile, state, apns, downlink_bps, uplink_bps, usage_bytes, issued_at_ms, expires_at_ms,
    generation, imsi_sealed, secrets_sealed, hss_status, hss_seq, row_sum)
  select printf('%012x', i), '999-99', 'p', case i % 5 when 0 then 'issued' when 1 then 'suspended' else 'in-use' end, '[]', 1, 1, 0,
    i, i, 1, x'00', x'00', case when i % 1000 = 0 then 'failed' when i % 100 = 1 then 'pending' else 'synced' end, 1, 1 from n`

counters('counts 100,000 SIMs exactly, and cheaply', async () => {
  const db = memoryDb(MIGRATIONS)
  await db.write((tx) => tx.run(FILL))
  const metrics = fakeMetrics()
  const counts = simCounters(metrics, '999-99')
  await counts.recount(db)
  const from = cpuMs()
  await counts.recount(db)
  const cost = cpuMs() - from
  const shown = (): object =>
    Object.fromEntries(SIM_STATES.map((state) => [state, metrics.value('svc_sim_state', { state })]))
  assert.equal(shown(), { issued: 20_000, 'in-use': 60_000, suspended: 20_000, expired: 0, revoked: 0 })
  assert.is(counts.total, SIMS)
  assert.is(metrics.value('svc_sims_unsynced', { status: 'failed' }), 100)
  assert.is(metrics.value('svc_sims_unsynced', { status: 'pending' }), 1_000)
  assert.ok(cost <= MOST_CPU_MS, `${cost.toFixed(1)} ms`)
  // No row is read, the indexes alone.
  const plans = await db.all<{ readonly detail: string }>(
    'explain query plan select state, count(*) as sims from sims_sim group by state',
  )
  assert.ok(plans.every(({ detail }) => detail.includes('COVERING INDEX')))
})

counters('goes on from what it counted, move by move', async () => {
  const db = memoryDb(MIGRATIONS)
  const metrics = fakeMetrics()
  const counts = simCounters(metrics, '999-99')
  await counts.recount(db)
  counts.moved(undefined, 'issued')
  counts.moved(undefined, 'issued')
  counts.moved('issued', 'in-use')
  counts.moved('in-use', 'suspended')
  counts.moved('suspended', 'in-use')
  counts.attached('999-99')
  counts.attached('999-99')
  counts.attached('001-01')
  assert.is(metrics.value('svc_sim_state', { state: 'issued' }), 1)
  assert.is(metrics.value('svc_sim_state', { state: 'in-use' }), 1)
  assert.is(metrics.value('svc_sim_state', { state: 'suspended' }), 0)
  assert.is(metrics.value('svc_attach_total', { plmn: '999-99' }), 2)
  assert.is(metrics.value('svc_attach_total', { plmn: '001-01' }), 1)
})

counters.run()
