import { type ImsiHash, type Instance, subscribersRef, usageLedgerRef } from '@steeple/contracts'
import { assert, fakeClock, fakeContext, memoryDb, suite } from '@steeple/testkit'
import { MIGRATIONS } from '../src/migrations.ts'
import type { FairUseConfig } from '../src/parts.ts'
import { calendarOf, periodClock } from '../src/periods.ts'
import { plugin } from '../src/plugin.ts'
import { newQuota, QUOTAS } from '../src/store/quota-store.ts'
import { LEDGER_MIGRATIONS, testLedger } from './support/ledger.ts'
import { memorySims } from './support/subscribers.ts'

const turns = suite('fair-use/turns')
/** Some tens of milliseconds of work, in a store that answers at once. */
const QUOTAS_IN_ALL = 6_000
const CONFIG: FairUseConfig = {
  enabled: true,
  usage_interval: '60s',
  time_zone: 'UTC',
  throttle_bps: 64_000,
  throttle_reach: 'kick',
}

/** Whether others had a turn while that went on. */
async function hadTurn(work: () => unknown): Promise<boolean> {
  let isTurned = false
  const other = setImmediate(() => {
    isTurned = true
  })
  await work()
  clearImmediate(other)
  return isTurned
}

async function started(): Promise<Instance> {
  const db = memoryDb([...MIGRATIONS, ...LEDGER_MIGRATIONS])
  const clock = fakeClock(Date.UTC(2026, 5, 15))
  const periods = periodClock(clock, calendarOf('UTC'))
  await db.write(async (tx) => {
    for (let i = 0; i < QUOTAS_IN_ALL; i++)
      await QUOTAS.put(tx, newQuota(i.toString(16).padStart(12, '0') as ImsiHash, 1_000, periods))
  })
  const fake = fakeContext({ id: 'fair-use', config: CONFIG, db, clock })
  fake.services.set(subscribersRef.id, memorySims([]).service)
  fake.services.set(
    usageLedgerRef.id,
    testLedger(db, () => undefined),
  )
  return await plugin.setup(fake.context)
}

turns('lets others have their turn while all quotas are counted and looked at', async () => {
  const instance = await started()
  const [reconciler] = instance.reconcilers ?? []
  assert.is(await hadTurn(() => instance.start?.()), true, 'counting them')
  // The first look takes over what became of SIMs before.
  assert.is((await reconciler?.keys())?.length, QUOTAS_IN_ALL)
  assert.is(await hadTurn(() => reconciler?.keys()), true, 'looking at them')
})

turns.run()
