import type { Imsi } from '@steeple/contracts'
import { assert, suite } from '@steeple/testkit'
import { subscriberStore } from '../src/subscriber-store.ts'

const subscribers = suite('sample-plugin/subscriber-store')

subscribers('zeroes the keys of a subscriber that it forgets, and only its own copies', () => {
  const store = subscriberStore()
  const imsi = '999990000000001' as Imsi
  const ki = new Uint8Array(16).fill(5)
  const opc = new Uint8Array(16).fill(6)
  store.set({ imsi, ki, opc, sqn: 1n, apns: ['internet'], ambrBps: { up: 1, down: 1 }, isBlocked: false })
  const held = store.get(imsi)
  store.clear()
  assert.is(store.size, 0)
  assert.equal([...(held?.ki ?? [])], Array(16).fill(0))
  assert.equal([...(held?.opc ?? [])], Array(16).fill(0))
  assert.equal([...ki], Array(16).fill(5))
})

subscribers.run()
