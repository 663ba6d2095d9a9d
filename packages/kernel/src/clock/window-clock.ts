import type { Clock } from '@steeple/contracts'

/** A clock that may know of steps in its past, see `JudgedClock.agoMs`. */
export interface WindowClock extends Clock {
  agoMs?(ms: number): number
}

/** What the clock said `ms` ago: what was written before then is older than `ms`. */
export function agoMs(clock: WindowClock, ms: number): number {
  return clock.agoMs?.(ms) ?? clock.nowMs() - ms
}
