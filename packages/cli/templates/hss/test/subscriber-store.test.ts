import type { Imsi } from '@steeple/contracts'
import { assert, suite } from '@steeple/testkit'
import { subscriberStore } from '../src/subscriber-store.ts'

const subscribers = suite('sample-plugin/subscriber-store')

subscribers('gives no key back, and leaves the buffers of its caller alone when it forgets', async () => {
  const store = subscriberStore()
  const { signal } = new AbortController()
  const imsi = '999990000000001' as Imsi
  const ki = new Uint8Array(16).fill(5)
  const opc = new Uint8Array(16).fill(6)
  const rest = { imsi, sqn: 1n, apns: ['internet'], ambrBps: { up: 1, down: 1 }, isBlocked: false }
  await store.write([{ ...rest, ki, opc }], signal)
  assert.equal(await store.read([imsi], signal), [rest])
  store.close()
  assert.is(await store.count(signal), 0)
  assert.equal([...ki, ...opc], [...Array(16).fill(5), ...Array(16).fill(6)])
})

subscribers.run()
