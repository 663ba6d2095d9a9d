import { assert, suite } from '@steeple/testkit'
import { heapLooks } from '../src/serve.ts'

const MIB = 1_048_576
const spare = suite('cli/spare-heap')

/** A heap that holds so much, and shrinks to what is needed when V8 is hurried. */
function world(heldMiB: number, neededMiB: number) {
  const heap = { held: heldMiB, needed: neededMiB, busy: 0, isHurried: false, hurries: 0 }
  const look = heapLooks({
    heldBytes: () => heap.held * MIB,
    busyShare: () => heap.busy,
    hurry: (isOn) => {
      heap.isHurried = isOn
      if (!isOn) return
      heap.hurries += 1
      heap.held = heap.needed
    },
  })
  const looks = (count: number): void => {
    for (let i = 0; i < count; i++) look()
  }
  return { heap, looks }
}

spare('has a heap collected at rest, for as long as V8 needs, and once', () => {
  const { heap, looks } = world(100, 45)
  looks(1)
  assert.ok(heap.isHurried)
  looks(2)
  assert.not.ok(heap.isHurried)
  looks(100)
  assert.is(heap.hurries, 1)
})

spare('waits while there is work, and collects what it has left behind', () => {
  const { heap, looks } = world(100, 45)
  looks(3)
  Object.assign(heap, { busy: 0.9, held: 110 })
  looks(10)
  assert.is(heap.hurries, 1)
  heap.busy = 0.01
  looks(1)
  assert.is(heap.hurries, 2)
})

spare('leaves a heap alone that has grown by little', () => {
  const { heap, looks } = world(100, 45)
  looks(3)
  heap.held = 45 + 15
  looks(10)
  assert.is(heap.hurries, 1)
})

spare('does not collect again and again what is needed', () => {
  const { heap, looks } = world(100, 100)
  looks(20)
  assert.is(heap.hurries, 1)
})

spare('does not take for needed what is held when work begins meanwhile', () => {
  const { heap, looks } = world(100, 45)
  looks(1)
  Object.assign(heap, { busy: 0.9, held: 120 })
  looks(1)
  assert.not.ok(heap.isHurried)
  looks(4)
  heap.busy = 0
  looks(1)
  assert.is(heap.hurries, 2)
})

spare.run()
