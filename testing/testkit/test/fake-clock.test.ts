import { assert, fakeClock, suite } from '../src/index.ts'

const clocks = suite('testkit/fake-clock')

clocks('stands still until it is advanced', async () => {
  const clock = fakeClock(1_000)
  assert.equal([clock.nowMs(), clock.monotonicMs()], [1_000, 0])
  await clock.advance(25)
  assert.equal([clock.nowMs(), clock.monotonicMs()], [1_025, 25])
})

clocks('fires timers in the order in which they fall due, each at its own time', async () => {
  const clock = fakeClock(0)
  const fired: string[] = []
  clock.setTimeout(() => void fired.push(`b${clock.nowMs()}`), 20)
  clock.setTimeout(() => void fired.push(`a${clock.nowMs()}`), 10)
  clock.setInterval(() => void fired.push(`i${clock.nowMs()}`), 15)
  await clock.advance(30)
  assert.equal(fired, ['a10', 'i15', 'b20', 'i30'])
  assert.is(clock.pending, 1)
})

clocks('fires once what fell due during a leap, when it is over, and goes on from there', async () => {
  const clock = fakeClock(0)
  const fired: string[] = []
  clock.setInterval(() => void fired.push(`i${clock.nowMs()}`), 15)
  clock.setTimeout(() => void fired.push(`a${clock.nowMs()}`), 10)
  clock.setTimeout(() => void fired.push(`b${clock.nowMs()}`), 101)
  await clock.leap(100)
  assert.equal(fired, ['a100', 'i100'])
  await clock.advance(15)
  assert.equal(fired.slice(2), ['b101', 'i115'])
})

clocks('waits for the promise of a task and fires what the task adds', async () => {
  const clock = fakeClock(0)
  const fired: number[] = []
  clock.setTimeout(async () => {
    await new Promise<void>((resolve) => setImmediate(resolve))
    clock.setTimeout(() => void fired.push(clock.nowMs()), 5)
  }, 5)
  await clock.advance(10)
  assert.equal(fired, [10])
})

clocks('does not fire what was cleared', async () => {
  const clock = fakeClock()
  const timer = clock.setInterval(() => assert.unreachable('cleared'), 1)
  clock.clearInterval(timer)
  clock.clearTimeout(undefined)
  await clock.advance(10)
})

clocks('jumps the wall clock without touching the monotonic one', async () => {
  const clock = fakeClock(1_000)
  await clock.advance(10)
  clock.jump(5)
  await clock.advance(1)
  assert.equal([clock.nowMs(), clock.monotonicMs()], [6, 11])
})

clocks.run()
