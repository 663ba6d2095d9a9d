import type { Clock } from '@steeple/contracts'
import type { Calendar } from './periods.ts'

/** The moment by which periods are judged. */
export interface Moment {
  readonly atMs: number
  /** The clock is in doubt: no period begins, and what would lie in a later one counts in this one. */
  readonly isDoubted: boolean
}

/** Time as periods go by it: it stands still while the clock is in doubt. */
export interface PeriodClock {
  readonly calendar: Calendar
  now(): Moment
}

/** A clock that begins with what the service goes by now. */
export function periodClock(clock: Clock, calendar: Calendar): PeriodClock {
  let believedMs = Math.floor(clock.nowMs())
  return {
    calendar,
    now: () => {
      const isDoubted = clock.doubt?.() !== undefined
      if (!isDoubted) believedMs = Math.floor(clock.nowMs())
      return { atMs: believedMs, isDoubted }
    },
  }
}
