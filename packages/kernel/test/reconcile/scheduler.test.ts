import { fakeClock, suite } from '@steeple/testkit'
import * as assert from 'uvu/assert'
import { createReasons, createScheduler } from '../../src/reconcile/scheduler.ts'
import { createTestLog, type Line } from './test-log.ts'

const scheduler = suite('kernel/scheduler')

scheduler('begins with the first period after start and goes on', async () => {
  const clock = fakeClock()
  const made = createScheduler({ timers: clock, log: createTestLog([]), random: () => 0.5 })
  let runs = 0
  made.every(1_000, async () => {
    runs += 1
  })
  await clock.advance(5_000)
  assert.is(runs, 0)
  made.start()
  await clock.advance(3_500)
  assert.is(runs, 3)
  await made.close()
  await clock.advance(10_000)
  assert.is(runs, 3)
  assert.is(clock.pending, 0)
})

scheduler('spreads periods by a tenth in both directions', async () => {
  for (const [random, expectedMs] of [
    [0, 900],
    [0.999_999_999, 1_100],
  ] as const) {
    const clock = fakeClock()
    const made = createScheduler({ timers: clock, log: createTestLog([]), random: () => random })
    let atMs = 0
    made.every(1_000, async () => {
      atMs ||= clock.monotonicMs()
    })
    made.start()
    await clock.advance(1_200)
    assert.ok(Math.abs(atMs - expectedMs) < 1, `${atMs}`)
    await made.close()
  }
})

scheduler(
  'does not wait for a long period at the start, nor where there is a reason to look now',
  async () => {
    const clock = fakeClock()
    const reasons = createReasons()
    const made = createScheduler({ timers: clock, log: createTestLog([]), reasons, random: () => 0.5 })
    const runs: Record<string, number[]> = { daily: [], each: [] }
    const DAY_MS = 86_400_000
    for (const [name, everyMs] of [['daily', DAY_MS] as const, ['each', 600] as const])
      made.every(everyMs, async () => void runs[name]?.push(clock.monotonicMs()))
    reasons.tell()
    await clock.advance(60_000)
    assert.equal(runs.daily, [], 'nothing runs before the start')
    made.start()
    await clock.advance(20_000)
    assert.is(runs.daily?.length, 1)
    await clock.advance(DAY_MS / 2)
    const quick = runs.each?.length
    reasons.tell()
    reasons.tell()
    assert.is(runs.each?.length, quick)
    await clock.advance(2_000)
    assert.is(runs.daily?.length, 2, 'once, however many reasons there are')
    await clock.advance(DAY_MS)
    assert.is(runs.daily?.length, 3, 'and by the period from then on')
    await made.close()
    reasons.tell()
    await clock.advance(DAY_MS)
    assert.is(runs.daily?.length, 3)
    assert.is(clock.pending, 0)
  },
)

scheduler('looks once more where a reason comes while it looks', async () => {
  const clock = fakeClock()
  const reasons = createReasons()
  const made = createScheduler({ timers: clock, log: createTestLog([]), reasons, random: () => 0.5 })
  const gate = Promise.withResolvers<void>()
  let runs = 0
  made.every(3_600_000, async () => {
    runs += 1
    await gate.promise
  })
  made.start()
  await clock.advance(20_000)
  reasons.tell()
  await clock.advance(20_000)
  assert.is(runs, 1)
  gate.resolve()
  await clock.advance(5_000)
  assert.is(runs, 2)
  await clock.advance(60_000)
  assert.is(runs, 2)
  await made.close()
})

scheduler('never runs a task beside itself', async () => {
  const clock = fakeClock()
  const made = createScheduler({ timers: clock, log: createTestLog([]), random: () => 0.5 })
  const gate = Promise.withResolvers<void>()
  let runs = 0
  made.every(1_000, async () => {
    runs += 1
    await gate.promise
  })
  made.start()
  await clock.advance(60_000)
  assert.is(runs, 1)
  gate.resolve()
  await clock.advance(1_000)
  assert.is(runs, 2)
  await made.close()
})

scheduler('goes on after a task that throws, and logs it', async () => {
  const clock = fakeClock()
  const lines: Line[] = []
  const made = createScheduler({ timers: clock, log: createTestLog(lines), random: () => 0.5 })
  let runs = 0
  made.every(1_000, async () => {
    runs += 1
    throw new Error('fault')
  })
  made.start()
  await clock.advance(2_000)
  assert.is(runs, 2)
  assert.is(lines.filter(({ message }) => message === 'periodic task failed').length, 2)
  await made.close()
})

scheduler('aborts what runs when it closes, and waits for it', async () => {
  const clock = fakeClock()
  const made = createScheduler({ timers: clock, log: createTestLog([]), random: () => 0.5 })
  let isOver = false
  made.every(1_000, async (signal) => {
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
    isOver = true
  })
  made.start()
  await clock.advance(1_000)
  await made.close()
  assert.ok(isOver)
  assert.is(clock.pending, 0)
})

scheduler('does not wait for ever for a task that ignores its signal', async () => {
  const clock = fakeClock()
  const made = createScheduler({ timers: clock, log: createTestLog([]), random: () => 0.5 })
  made.every(1_000, () => new Promise(() => undefined))
  made.start()
  await clock.advance(1_000)
  const closing = made.close()
  await clock.advance(5_000)
  await closing
})

scheduler.run()
