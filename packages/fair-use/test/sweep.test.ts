import type { ImsiHash } from '@steeple/contracts'
import { assert, fakeClock, fakeContext, memoryDb, suite } from '@steeple/testkit'
import { MIGRATIONS } from '../src/migrations.ts'
import type { FairUseParts } from '../src/parts.ts'
import { calendarOf, periodClock } from '../src/periods.ts'
import { countByAction, newQuota, QUOTAS, quotaHashes } from '../src/store/quota-store.ts'
import { sweep } from '../src/sweep.ts'
import { memorySims } from './support/subscribers.ts'

const sweeping = suite('fair-use/sweep')

sweeping('forgets the quotas of SIMs that have none any more, and no other', async () => {
  const db = memoryDb(MIGRATIONS)
  const clock = fakeClock(Date.UTC(2026, 5, 15))
  const periods = periodClock(clock, calendarOf('UTC'))
  // More than are looked at in one go; every third has been revoked.
  const hashes = Array.from({ length: 2_500 }, (_, i) => i.toString(16).padStart(12, '0') as ImsiHash)
  const there = hashes.filter((_, i) => i % 3 !== 0)
  await db.write(async (tx) => {
    for (const hash of hashes) await QUOTAS.put(tx, newQuota(hash, 1_000, periods))
  })
  const { service, sims } = memorySims(there)
  for (const sim of sims.values()) sim.quotaBytes = 1_000
  const { context } = fakeContext({ id: 'fair-use', config: {}, db, clock })
  const parts: Pick<FairUseParts, 'context' | 'clock' | 'subscribers'> = {
    context: context as FairUseParts['context'],
    clock: periods,
    subscribers: service,
  }
  // What of the parts it looks at.
  await sweep(parts as FairUseParts, new AbortController().signal)
  const left: ImsiHash[] = []
  for await (const some of quotaHashes(db, 1_000)) left.push(...some)
  assert.equal(left, there)
  assert.equal(await countByAction(db), new Map([['suspend', there.length]]))
})

sweeping.run()
