import { assert, fakeClock, suite } from '@steeple/testkit'
import { judgeClock } from '../src/judged-clock.ts'

const judged = suite('kernel/judged-clock')

const START = Date.UTC(2026, 0, 1)
const MINUTE = 60_000
const DAY = 86_400_000

judged('follows the machine as long as it goes on at its pace', async () => {
  const machine = fakeClock(START)
  const clock = judgeClock(machine)
  await machine.advance(3 * DAY)
  assert.equal([clock.nowMs(), clock.doubt()], [START + 3 * DAY, undefined])
  machine.jump(START + 3 * DAY + 50_000)
  assert.equal([clock.nowMs(), clock.doubt()], [START + 3 * DAY + 50_000, undefined])
})

judged('goes on from the last plausible moment when the machine leaps, either way', async () => {
  for (const leapMs of [800 * DAY, 61_000, -61_000, -800 * DAY]) {
    const machine = fakeClock(START)
    const clock = judgeClock(machine)
    await machine.advance(MINUTE)
    clock.nowMs()
    machine.jump(START + MINUTE + leapMs)
    await machine.advance(5_000)
    assert.is(clock.nowMs(), START + MINUTE + 5_000, `a leap of ${leapMs} ms`)
    assert.match(clock.doubt() ?? '', leapMs > 0 ? /ahead of/ : /behind/)
  }
})

judged('gives whole milliseconds while it doubts and after a step: stores take no others', () => {
  let wallMs = START
  let monoMs = 1_000.25
  const clock = judgeClock({ nowMs: () => wallMs, monotonicMs: () => monoMs })
  wallMs += 800 * DAY
  monoMs += 5_000.5
  assert.is(clock.nowMs(), START + 5_000)
  clock.believe()
  monoMs += 0.3
  assert.ok(Number.isInteger(clock.agoMs(DAY)), `${clock.agoMs(DAY)}`)
  clock.expect({ expectedMs: START + 0.7, aheadMs: 0, from: 'the last commit' })
  assert.is(clock.nowMs(), START)
})

judged('says by how much, in words', () => {
  const machine = fakeClock(START)
  const clock = judgeClock(machine)
  machine.jump(START + 800 * DAY)
  assert.is(
    clock.doubt(),
    "the machine's clock says 2028-03-11T00:00:00.000Z, 800 days ahead of what the time that has passed since the service started lets expect",
  )
})

judged('believes the machine again once it says what it should, and never goes back by that', async () => {
  const machine = fakeClock(START)
  const clock = judgeClock(machine)
  machine.jump(START + 800 * DAY)
  assert.ok(clock.doubt() !== undefined)
  await machine.advance(10 * MINUTE)
  const before = clock.nowMs()
  machine.jump(START + 10 * MINUTE - 20_000)
  assert.is(clock.doubt(), undefined)
  assert.is(clock.nowMs(), before, 'it stands still until the machine has caught up')
  await machine.advance(30_000)
  assert.is(clock.nowMs(), START + 10 * MINUTE + 10_000)
})

judged('takes the time of the machine when it is told that it is right, also back', () => {
  for (const leapMs of [800 * DAY, -800 * DAY]) {
    const machine = fakeClock(START)
    const clock = judgeClock(machine)
    machine.jump(START + leapMs)
    assert.is(clock.nowMs(), START)
    assert.equal(clock.believe(), { atMs: START + leapMs, byMs: leapMs })
    assert.equal([clock.nowMs(), clock.doubt()], [START + leapMs, undefined])
  }
})

judged('knows after a step what it said a day ago', async () => {
  const machine = fakeClock(START)
  const clock = judgeClock(machine)
  machine.jump(START + 800 * DAY)
  clock.believe()
  await machine.advance(DAY / 2)
  assert.is(clock.agoMs(DAY), START - DAY / 2, 'what was written half a day before the step is a day old')
  assert.is(clock.agoMs(DAY / 4), START + 800 * DAY + DAY / 4)
  await machine.advance(DAY)
  assert.is(clock.agoMs(DAY), START + 800 * DAY + DAY / 2, 'nothing of before the step is young any more')
})

judged('takes a sleep for time that has passed', async () => {
  const machine = fakeClock(START)
  const clock = judgeClock(machine)
  await machine.advance(MINUTE)
  assert.is(clock.doubt(), undefined)
  machine.jump(START + MINUTE + 8 * 3_600_000)
  assert.ok(clock.doubt() !== undefined)
  clock.slept(8 * 3_600_000)
  assert.equal([clock.doubt(), clock.nowMs()], [undefined, START + MINUTE + 8 * 3_600_000])
})

judged('measures by something else than its own past at a start', () => {
  const machine = fakeClock(START)
  const late = judgeClock(machine)
  late.expect({ expectedMs: START - DAY, aheadMs: 3_600_000, from: 'the last commit' })
  assert.match(late.doubt() ?? '', /24 hours ahead of what the last commit lets expect/)
  assert.is(late.nowMs(), START - DAY)
  const early = judgeClock(machine)
  early.expect({ expectedMs: START + DAY, aheadMs: 3_600_000, from: 'the last commit' })
  assert.match(early.doubt() ?? '', /24 hours behind what the last commit lets expect/)
  assert.is(early.nowMs(), START + DAY)
  machine.jump(START + DAY + 3_000_000)
  assert.is(early.doubt(), undefined, 'nobody knows how long the machine was off')
})

judged.run()
