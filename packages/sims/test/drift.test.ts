import { parseImsi } from '@steeple/telecom'
import { assert, suite } from '@steeple/testkit'
import fc from 'fast-check'
import { MAX_BPS } from '../src/config.ts'
import { driftOf } from '../src/provision/push.ts'

const drift = suite('sims/drift')
const imsi = parseImsi('999990000000001')!
const held = (up: number, down: number) => ({
  imsi,
  apns: ['internet'],
  ambrBps: { up, down },
  isBlocked: false,
})
/** As an HSS with a 32-bit value and a decimal unit keeps it. */
function rounded(bps: number): number {
  let factor = 1
  while (Math.floor(bps / factor) >= 2 ** 31) factor *= 1000
  return Math.floor(bps / factor) * factor
}

drift('takes no rate that an HSS rounds down to its unit for drift, whatever may be issued', () => {
  const rate = fc.oneof(
    fc.integer({ min: 1, max: MAX_BPS }),
    fc.integer({ min: 2 ** 31 - 2_000, max: 2 ** 31 + 2_000 }),
    fc.constantFrom(3_000_000_001, 2 ** 31, MAX_BPS, MAX_BPS - 1),
  )
  fc.assert(
    fc.property(rate, rate, (up, down) => {
      assert.is(driftOf(held(up, down), held(rounded(up), rounded(down))), undefined)
    }),
  )
})

drift('sees a rate that was changed by hand', () => {
  const rate = fc.integer({ min: 1_000, max: MAX_BPS })
  fc.assert(
    fc.property(rate, rate, (up, down) => {
      for (const seen of [held(up, Math.floor(down * 0.99)), held(0, down), held(up + up / 100, down)])
        assert.is(driftOf(held(up, down), seen), 'the AMBR was changed in the HSS')
    }),
  )
})

drift.run()
