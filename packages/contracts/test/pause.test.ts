import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createPause } from '../src/pause.ts'

const pausing = suite('contracts/pause')

/** Longer than a turn may be, ms. */
const LONG_MS = 8

/** Takes the processor. */
function work(): void {
  for (const untilMs = performance.now() + LONG_MS; performance.now() < untilMs; );
}

/** Counts turns of the event loop while `during` goes on. */
async function countingTurns(during: (turn: () => number) => Promise<void>): Promise<void> {
  let turns = 0
  let isOver = false
  const tick = (): void => {
    turns += 1
    if (!isOver) setImmediate(tick)
  }
  setImmediate(tick)
  await during(() => turns).finally(() => {
    isOver = true
  })
}

pausing('does not wait before the turn is used up', () => {
  // The machine may be at other work between the two calls of one of them.
  const first = Array.from({ length: 20 }, () => createPause()())
  assert.ok(first.includes(undefined))
})

pausing('gives each piece of work a turn of its own', async () => {
  await countingTurns(async (turn) => {
    const seen: number[] = []
    const piece = async (): Promise<void> => {
      const pause = createPause()
      for (let i = 0; i < 3; i += 1) {
        work()
        await pause()
        seen.push(turn())
      }
    }
    await Promise.all([piece(), piece(), piece()])
    assert.is(seen.length, 9)
    assert.equal(seen, [...new Set(seen)])
  })
})

pausing('lets those go on together who work on the same piece', async () => {
  await countingTurns(async (turn) => {
    const pause = createPause()
    work()
    const seen = await Promise.all(
      [1, 2, 3].map(async () => {
        await pause()
        return turn()
      }),
    )
    assert.is(new Set(seen).size, 1)
  })
})

pausing.run()
