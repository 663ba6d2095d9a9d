import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { DURATION_PATTERN, msFromDuration } from '../src/duration.ts'

const duration = suite('contracts/duration')

duration('reads units and sums of them', () => {
  assert.is(msFromDuration('250ms'), 250)
  assert.is(msFromDuration('15s'), 15_000)
  assert.is(msFromDuration('5m'), 300_000)
  assert.is(msFromDuration('1h30m'), 5_400_000)
  assert.is(msFromDuration('1.5h'), 5_400_000)
  assert.is(msFromDuration('2d'), 172_800_000)
  assert.is(msFromDuration('1y'), 31_536_000_000)
})

duration('refuses what is none, nothing, or longer than a century', () => {
  for (const text of ['', '5', 'm', '5 m', '-5m', '5M', '1e3s', '0s', '0.1ms', '101y', '5m!', '٥m'])
    assert.is(msFromDuration(text), undefined, text)
})

duration('agrees with the pattern of the schemas', () => {
  const pattern = new RegExp(DURATION_PATTERN)
  for (const text of ['15s', '1h30m', '1.5h']) assert.ok(pattern.test(text), text)
  for (const text of ['', '5', '5 m', '5m ', '\n5m']) assert.not(pattern.test(text), text)
})

duration.run()
