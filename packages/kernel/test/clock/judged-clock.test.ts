import { assert, fakeClock, suite } from '@steeple/testkit'
import * as fc from 'fast-check'
import { judgeClock } from '../../src/clock/judged-clock.ts'

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

judged('neither stops nor runs away by small steps of the machine, however many', async () => {
  const step = fc.record({
    stepMs: fc.integer({ min: -59_000, max: 59_000 }),
    waitMs: fc.integer({ max: 3_600_000, min: 0 }),
  })
  const setBack = fc.constant({ stepMs: -50_000, waitMs: 50_000 })
  const setForth = fc.constant({ stepMs: 50_000, waitMs: 1_000 })
  const steps = fc.array(fc.oneof(step, setBack, setForth), { minLength: 1, maxLength: 200 })
  await fc.assert(
    fc.asyncProperty(steps, async (all) => {
      const machine = fakeClock(START)
      const clock = judgeClock(machine)
      let passedMs = 0
      let before = clock.nowMs()
      for (const { stepMs, waitMs } of all) {
        machine.jump(machine.nowMs() + stepMs)
        clock.nowMs()
        await machine.advance(waitMs)
        passedMs += waitMs
        const now = clock.nowMs()
        const slackMs = MINUTE + passedMs / 1_440 + 1
        assert.ok(now >= before, 'back')
        assert.ok(
          Math.abs(now - START - passedMs) <= slackMs,
          `${now - START} ms where ${passedMs} have passed`,
        )
        before = now
      }
    }),
    { numRuns: 200 },
  )
})

judged('forgives a small step within a day, so that a month of corrections is no doubt', async () => {
  const machine = fakeClock(START)
  const clock = judgeClock(machine)
  for (let day = 1; day <= 30; day += 1) {
    machine.jump(machine.nowMs() - 50_000)
    await machine.advance(DAY)
    assert.is(clock.doubt(), undefined, `day ${day}`)
  }
})

judged('goes back over no restart, also within the tolerance', () => {
  const machine = fakeClock(START)
  for (const aheadMs of [MINUTE, 3_600_000]) {
    const clock = judgeClock(machine)
    clock.expect({ expectedMs: START + 50_000, aheadMs, from: 'the last commit' })
    assert.equal([clock.nowMs(), clock.doubt()], [START + 50_000, undefined])
  }
})

judged.run()
