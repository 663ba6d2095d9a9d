import { policyRef } from '@steeple/contracts'
import { assert, fakeClock, suite } from '@steeple/testkit'
import { keepRetention } from '../src/plugin.ts'
import { accessContext, fakeTrail, storedToken, tokenDb } from './helpers.ts'

const retention = suite('access/retention')
const DAY_MS = 86_400_000

retention('prunes the audit trail once a day by the policy in force', async () => {
  const trail = fakeTrail()
  const fake = accessContext(tokenDb(), fakeClock(1_000 * DAY_MS), trail)
  keepRetention(fake.context)
  await fake.clock.advance(3_600_000)
  assert.equal(trail.prunedBeforeMs, [600 * DAY_MS + 3_600_000])
  fake.services.set(policyRef.id, {
    bundle: () => ({ retention_days: { sessions: 1, audit: 10, metrics: 1 } }),
  })
  await fake.clock.advance(DAY_MS)
  assert.equal(trail.prunedBeforeMs.slice(1), [991 * DAY_MS + 3_600_000])
  await fake.dispose()
})

retention('removes tokens that expired a month ago and audits that', async () => {
  const db = tokenDb()
  const fake = accessContext(db, fakeClock(100 * DAY_MS))
  await storedToken(db, { id: 'old', expires_at_ms: 69 * DAY_MS })
  await storedToken(db, { id: 'recent', expires_at_ms: 99 * DAY_MS })
  await storedToken(db, { id: 'endless' })
  keepRetention(fake.context)
  await fake.clock.advance(3_600_000)
  assert.equal(await db.all('select id from access_token order by id'), [{ id: 'endless' }, { id: 'recent' }])
  assert.equal(
    fake.mutations.map(({ action, detail }) => [action, detail]),
    [['token.prune', { removed: 1 }]],
  )
  await fake.dispose()
})

retention.run()
