import type { Clock } from '@steeple/contracts'

/** The machine's own time. `nowMs` follows the wall clock, `monotonicMs` counts from the start of the process. */
export function systemClock(): Clock {
  return {
    nowMs: () => Date.now(),
    monotonicMs: () => performance.now(),
  }
}
