import { assert, fakeContext, memoryDb, suite } from '@steeple/testkit'
import { openPolicy } from '../../src/bundle/current-policy.ts'
import { MIGRATIONS } from '../../src/migrations.ts'

const current = suite('policy/current-policy')

current('does not fall back to a revision that was read while a newer one was committed', async () => {
  const db = memoryDb(MIGRATIONS)
  const read = Promise.withResolvers<void>()
  let isSlow = false
  const slowDb = {
    ...db,
    all: async <Row>(sql: string): Promise<readonly Row[]> => {
      const waits = isSlow
      const rows = await db.all<Row>(sql)
      if (waits) await read.promise
      return rows
    },
  }
  const { context } = fakeContext<unknown>({ config: {}, id: 'policy', db: slowDb })
  const policy = await openPolicy(context)
  await db.write((tx) => policy.writeFirst(tx))
  isSlow = true
  const refreshing = policy.refresh()
  isSlow = false
  const { revision: _revision, updated_at: _updatedAt, ...content } = policy.bundle()
  const author = { by: 'token:tok-1', nowMs: 0 }
  await db.write(async (tx) => {
    await policy.write(tx, { ...content, sim_swap_cooldown_hours: 1 }, author)
  })
  read.resolve()
  assert.is((await refreshing).sim_swap_cooldown_hours, 1)
  assert.is(policy.bundle().sim_swap_cooldown_hours, 1)
  db.close()
})

current.run()
