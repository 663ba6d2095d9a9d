import { randomBytes } from 'node:crypto'
import { assert, suite } from '@steeple/testkit'
import { writeArchive } from '../src/format/archive.ts'
import { gentlePace } from '../src/pace.ts'
import { CHEAP, PASSPHRASE, stateOf } from './support/state.ts'

const test = suite('pace of a backup')

/** A pace over a processor time that the test sets, and the rests that it took. */
function paceOf(share: number): { work(ms: number): Promise<void>; readonly rests: number[] } {
  let usedMs = 1_000
  const rests: number[] = []
  const pace = gentlePace(share, {
    usedMs: () => usedMs,
    sleep: async (ms) => {
      rests.push(ms)
    },
  })
  return {
    work: async (ms) => {
      usedMs += ms
      await pace()
    },
    rests,
  }
}

test('it rests so much longer than it worked', async () => {
  const { work, rests } = paceOf(0.25)
  for (const ms of [1, 2, 4]) await work(ms)
  assert.equal(rests, [3, 6, 12])
})

test('what is too short for a rest counts with what comes', async () => {
  const { work, rests } = paceOf(0.5)
  for (const ms of [0.25, 0.25, 0.25, 0.25, 2]) await work(ms)
  assert.equal(rests, [1, 2])
})

test('after a long piece it rests a while and no longer', async () => {
  const { work, rests } = paceOf(0.25)
  for (const ms of [400, 1]) await work(ms)
  assert.equal(rests, [50, 3])
})

test('a backup rests after each piece that it reads, twice over: for its sums, and to pack it', async () => {
  const pieces = 5
  await using state = await disposable(stateOf({ 'store.db': randomBytes(pieces * 65_536) }))
  let rests = 0
  const pace = async () => {
    rests++
  }
  for await (const _ of writeArchive(state, PASSPHRASE, { cost: CHEAP, pace }));
  assert.is(rests, 2 * pieces)
})

async function disposable<T extends { release(): Promise<void> }>(
  made: Promise<T>,
): Promise<T & AsyncDisposable> {
  const it = await made
  return { ...it, [Symbol.asyncDispose]: () => it.release() }
}

test.run()
