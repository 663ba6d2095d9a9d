import { assert, suite } from '@steeple/testkit'
import { Double, Int32, Long } from 'bson'
import fc from 'fast-check'
import { decodeRate, encodeRate } from '../../src/open5gs/ambr.ts'

const ambr = suite('driver-hss/open5gs/ambr')
const INT32_MAX = 2 ** 31 - 1
/** The largest rate that a SIM can be issued with, bit/s. */
const LARGEST_BPS = 4_000_000_000_000

ambr('reads back every rate that it writes, exactly, in 32 bits', () => {
  const rate = fc.oneof(
    fc.integer({ min: 1, max: INT32_MAX }),
    fc.integer({ min: 1, max: INT32_MAX }).map((value) => value * 1000),
    fc.integer({ min: 1, max: 9_000_000 }).map((value) => value * 1_000_000),
  )
  fc.assert(
    fc.property(rate, (bps) => {
      const { value, unit } = encodeRate(bps) as { value: Int32; unit: Int32 }
      assert.ok(value.value > 0 && value.value <= INT32_MAX)
      assert.ok(unit.value >= 0 && unit.value <= 4)
      assert.is(decodeRate({ value, unit }), bps)
    }),
  )
})

ambr('takes every rate that a SIM can be issued with, and rounds it down by less than its unit', () => {
  const rate = fc.oneof(
    fc.integer({ min: 1, max: LARGEST_BPS }),
    fc.integer({ min: -1_001, max: 1_001 }).map((off) => INT32_MAX + off),
    fc.integer({ min: -1_000_001, max: 1_000_001 }).map((off) => INT32_MAX * 1000 + off),
    fc.constant(LARGEST_BPS),
  )
  fc.assert(
    fc.property(rate, (bps) => {
      const { value, unit } = encodeRate(bps) as { value: Int32; unit: Int32 }
      assert.ok(value.value > 0 && value.value <= INT32_MAX)
      const lost = bps - decodeRate({ value, unit })
      assert.ok(lost >= 0 && lost < 1000 ** unit.value, `${bps} loses ${lost}`)
      // No unit is larger than it must be, and none loses more than a millionth.
      assert.ok(unit.value === 0 || bps >= 2 ** 31 * 1000 ** (unit.value - 1))
      assert.ok(lost * 1_000_000 <= bps)
      assert.is(decodeRate(encodeRate(bps - lost)), bps - lost)
    }),
    { numRuns: 1_000 },
  )
})

ambr('rounds an odd rate above 32 bits', () => {
  assert.is(decodeRate(encodeRate(3_000_000_001)), 3_000_000_000)
  assert.is(decodeRate(encodeRate(INT32_MAX + 1)), 2_147_483_000)
})

ambr('writes one gigabit as the recorded document has it', () => {
  assert.equal(encodeRate(1_000_000_000), { value: new Int32(1_000_000_000), unit: new Int32(0) })
})

ambr('takes a larger unit only where 32 bits are too few', () => {
  assert.equal(encodeRate(INT32_MAX), { value: new Int32(INT32_MAX), unit: new Int32(0) })
  assert.equal(encodeRate(3_000_000_000), { value: new Int32(3_000_000), unit: new Int32(1) })
})

ambr('refuses what is no rate', () => {
  for (const bps of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53]) {
    assert.throws(
      () => encodeRate(bps),
      (error: { code?: string }) => error.code === 'validation_failed',
    )
  }
})

ambr('reads a value of another type as the core does: not at all', () => {
  for (const value of [new Double(5), Long.fromNumber(5), 5, '5', undefined]) {
    assert.is(decodeRate({ value, unit: new Int32(0) }), 0)
  }
  assert.is(decodeRate({ value: new Int32(5), unit: new Double(1) }), 0)
})

ambr.run()
