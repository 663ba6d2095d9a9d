import type { Clock, Log, Outcome } from '@steeple/contracts'
import type { Timers } from '../clock/deadline.ts'
import type { TraceBook } from './call.ts'

/** How one key of a call ended. */
export type ReconcileResult = Outcome['state'] | 'error' | 'timeout'

/** What a controller needs. `random` gives 0 (inclusive) to 1 (exclusive). */
export interface ControllerOptions {
  readonly clock: Clock
  readonly timers: Timers
  readonly log: Log
  readonly random: () => number
  /** Told once per key and call. */
  readonly counted: (resource: string, result: ReconcileResult) => void
  /** Told once per call. */
  readonly timed: (resource: string, seconds: number) => void
  readonly traces?: TraceBook | undefined
}
