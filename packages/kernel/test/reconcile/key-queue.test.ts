import { suite } from '@steeple/testkit'
import fc from 'fast-check'
import * as assert from 'uvu/assert'
import { createDueQueue } from '../../src/reconcile/controller.ts'

const queue = suite('kernel/reconcile/key-queue')

queue('gives what is due, the longest due first, and each key once', () => {
  const keys = createDueQueue()
  keys.add('b', 20)
  keys.add('a', 10)
  keys.add('c', 30)
  keys.add('a', 15)
  assert.equal(keys.take(25, 10), ['a', 'b'])
  assert.is(keys.nextDueMs(), 30)
  assert.is(keys.size, 1)
})

queue('moves a key to the earlier of two times', () => {
  const keys = createDueQueue()
  keys.add('a', 100)
  keys.add('b', 50)
  keys.add('a', 10)
  assert.equal(keys.take(10, 10), ['a'])
  assert.equal(keys.take(100, 10), ['b'])
  assert.is(keys.nextDueMs(), undefined)
})

queue('keeps the order of arrival among keys that are due at the same time', () => {
  const keys = createDueQueue()
  for (const key of ['c', 'a', 'b']) keys.add(key, 5)
  assert.equal(keys.take(5, 2), ['c', 'a'])
  assert.equal(keys.take(5, 2), ['b'])
})

queue('is equal to a sorted list under any sequence of operations', () => {
  const operation = fc.oneof(
    fc.record({ op: fc.constant('add' as const), key: fc.nat(12), at: fc.nat(100) }),
    fc.record({ op: fc.constant('remove' as const), key: fc.nat(12), at: fc.constant(0) }),
    fc.record({ op: fc.constant('take' as const), key: fc.nat(4), at: fc.nat(100) }),
  )
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 200, size: 'max' }), (operations) => {
      const keys = createDueQueue()
      const model = createModel()
      for (const { op, key, at } of operations) {
        if (op === 'take') assert.equal(keys.take(at, key), model.take(at, key))
        else {
          keys[op](`k${key}`, at)
          model[op](`k${key}`, at)
        }
        assert.is(keys.size, model.size())
        assert.is(keys.nextDueMs(), model.nextDueMs())
      }
    }),
  )
})

/** The same as a plain list that is sorted whenever it is asked. */
function createModel() {
  let items: { key: string; at: number; order: number }[] = []
  let order = 0
  const remove = (key: string): void => {
    items = items.filter((item) => item.key !== key)
  }
  return {
    remove,
    add: (key: string, at: number): void => {
      const known = items.find((item) => item.key === key)
      if (known !== undefined && known.at <= at) return
      remove(key)
      items.push({ key, at, order: order++ })
    },
    take: (at: number, limit: number): readonly string[] => {
      const due = items.filter((item) => item.at <= at).sort((a, b) => a.at - b.at || a.order - b.order)
      const taken = due.slice(0, limit).map((item) => item.key)
      for (const key of taken) remove(key)
      return taken
    },
    size: () => items.length,
    nextDueMs: () => (items.length === 0 ? undefined : Math.min(...items.map((item) => item.at))),
  }
}

queue.run()
