import { setTimeout as wait } from 'node:timers/promises'
import type { FakeClock } from './fake-clock.ts'

/** Time of the clock for each step, which takes 1 ms or as long as what falls due, ms. */
const STEP_MS = 10
/** On a busy machine a step is as long as the one before took, but not longer than this, ms. */
const LONGEST_STEP_MS = 200

/**
 * Lets the time of a fake clock go by itself, up to ten times as fast as it would, until the answer is called.
 *
 * It stands still while what fell due is at work, so that time limits of the code under test hold on a busy machine.
 */
export function letTimePass(clock: FakeClock): () => Promise<void> {
  let isOver = false
  const passing = (async () => {
    for (let lastMs = performance.now(); !isOver; ) {
      const nowMs = performance.now()
      // Whole: the wall clock of a machine has no fractions of a millisecond.
      await clock.advance(Math.round(Math.min(Math.max(STEP_MS, nowMs - lastMs), LONGEST_STEP_MS)))
      lastMs = nowMs
      await wait(1)
    }
  })()
  return async () => {
    isOver = true
    await passing
  }
}
