import { suite } from '@steeple/testkit'
import fc from 'fast-check'
import * as assert from 'uvu/assert'
import { createDueQueue } from '../../src/reconcile/due-queue.ts'

const queue = suite('kernel/reconcile/due-queue')

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
      let order = 0
      const model = new Map<string, { at: number; order: number }>()
      for (const { op, key, at } of operations) {
        const name = `k${key}`
        if (op === 'add') {
          keys.add(name, at)
          const known = model.get(name)
          if (known === undefined || at < known.at) model.set(name, { at, order: order++ })
        } else if (op === 'remove') {
          keys.remove(name)
          model.delete(name)
        } else {
          const due = [...model]
            .filter(([, item]) => item.at <= at)
            .sort(([, a], [, b]) => a.at - b.at || a.order - b.order)
            .slice(0, key)
            .map(([one]) => one)
          for (const one of due) model.delete(one)
          assert.equal(keys.take(at, key), due)
        }
        assert.is(keys.size, model.size)
        const times = [...model.values()].map((item) => item.at)
        assert.is(keys.nextDueMs(), times.length === 0 ? undefined : Math.min(...times))
      }
    }),
  )
})

queue.run()
