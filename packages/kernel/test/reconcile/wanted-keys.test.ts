import { onPostgres, type StoreBox } from '@steeple/store/testing'
import { assert } from '@steeple/testkit'
import { createWantedKeys, type WantedKey, type WantedKeys } from '../../src/reconcile/cluster.ts'
import { LEASE_DDL } from '../../src/reconcile/election.ts'
import { createTestLog } from './test-log.ts'

interface Bench {
  readonly wanted: WantedKeys
  /** Each in a transaction of its own, as requests leave them. */
  leave(...keys: readonly WantedKey[]): Promise<void>
  take(...resources: readonly string[]): Promise<readonly WantedKey[]>
}

async function bench(box: StoreBox): Promise<Bench> {
  for (const ddl of LEASE_DDL) await box.raw(ddl)
  const db = await box.open()
  const log = createTestLog([])
  const wanted = createWantedKeys({
    db,
    nowMs: () => box.clock.nowMs(),
    announce: async () => undefined,
    log,
  })
  return {
    wanted,
    leave: async (...keys) => {
      await Promise.all(keys.map((key) => db.transact((tx) => wanted.leave(tx, [key]))))
    },
    take: async (...resources) => {
      const found: WantedKey[] = []
      await wanted.take(
        (resource) => resources.includes(resource),
        (key) => void found.push(key),
      )
      return found
    },
  }
}

const many = (resource: string, count: number): readonly WantedKey[] =>
  Array.from({ length: count }, (_, i) => ({ resource, key: `k${i}` }))

onPostgres('reconcile/wanted-keys', (test, store) => {
  test('are taken all at once, however many wait for an instance that is down', async () => {
    await using box = await store()
    const { leave, take } = await bench(box)
    await leave(...many('radio', 150))
    await box.clock.advance(1_000)
    await leave(...many('sim', 250))
    assert.is((await take('sim')).length, 250)
    assert.equal(await take('sim'), [])
    assert.is((await take('radio')).length, 150)
  })

  test('of a resource that runs nowhere do not pile up', async () => {
    await using box = await store()
    const { leave, take } = await bench(box)
    await leave(...many('gone', 120))
    await box.clock.advance(700_000)
    await leave({ resource: 'gone', key: 'young' })
    assert.equal(await take('sim'), [])
    assert.equal(
      (await take('gone')).map(({ key }) => key),
      ['young'],
    )
  })

  test('keep the trace that asked for each, and none where there was none', async () => {
    await using box = await store()
    const { leave, take } = await bench(box)
    const [one, other] = ['1', '2'].map((digit) => `00-${digit.repeat(32)}-${digit.repeat(16)}-01`)
    await leave({ resource: 'sim', key: 'a', ...(one && { trace: one }) })
    await leave({ resource: 'sim', key: 'b', ...(other && { trace: other }) })
    await leave({ resource: 'sim', key: 'c' })
    const taken = await take('sim')
    const traces = new Map(taken.map(({ key, trace }) => [key, trace]))
    assert.equal(
      ['a', 'b', 'c'].map((key) => traces.get(key)),
      [one, other, undefined],
    )
  })

  test('stay urgent', async () => {
    await using box = await store()
    const { leave, take } = await bench(box)
    await leave({ resource: 'sim', key: 'cut', isUrgent: true })
    await leave({ resource: 'sim', key: 'push' })
    const taken = await take('sim')
    assert.is(taken.find(({ key }) => key === 'cut')?.isUrgent, true)
    assert.is(taken.find(({ key }) => key === 'push')?.isUrgent, false)
  })
}).run()
