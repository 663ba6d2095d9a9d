import { assert, suite } from '@steeple/testkit'
import fc from 'fast-check'
import { parseRate, sessionRate, ueRate } from '../../src/free5gc/names.ts'

const rate = suite('driver-hss/free5gc/rate')
const anyRate = fc.integer({ min: 1, max: 30_000_000_000_000 })

rate('writes a rate of a subscriber that reads back exactly', () => {
  fc.assert(
    fc.property(anyRate, (bps) => {
      assert.match(ueRate(bps), /^[0-9]+(\.[0-9]+)? (bps|Kbps|Mbps|Gbps|Tbps)$/)
      assert.is(parseRate(ueRate(bps)), bps)
    }),
  )
})

rate('writes a rate of a session in 15 bits, never above what was asked for', () => {
  fc.assert(
    fc.property(anyRate, (bps) => {
      const text = sessionRate(bps)
      const value = Number(text.split(' ')[0])
      assert.ok(Number.isInteger(value) && value >= 1 && value <= 32_767, text)
      assert.ok(parseRate(text) <= bps)
      assert.ok(parseRate(text) > bps * 0.96)
    }),
  )
})

rate('takes a unit in which the core does not send 0', () => {
  assert.is(sessionRate(100_000_000), '100 Mbps')
  assert.is(sessionRate(32_767_000), '32767 Kbps')
  assert.is(sessionRate(32_768_000), '32 Mbps')
  assert.is(ueRate(32_768_000), '32.768 Mbps')
  assert.is(ueRate(1_000_000_000), '1000 Mbps')
})

rate('reads what the core cannot as 0', () => {
  for (const text of ['', '100Mbps', '100  Mbps', '100 mbps', '-1 bps', 5, undefined, null]) {
    assert.is(parseRate(text), 0)
  }
})

rate('refuses what is no rate', () => {
  for (const bps of [0, -1, 1.5, Number.NaN]) {
    assert.throws(
      () => sessionRate(bps),
      (error: { code?: string }) => error.code === 'validation_failed',
    )
  }
})

rate.run()
