import type { Context } from '@steeple/contracts'
import type { ExitClass } from '../process/exit-class.ts'
import type { Backoff } from './backoff.ts'
import type { RadioStart } from './radio-start.ts'

/** What happens to a radio, for metrics and log. */
export interface SupervisorEvents {
  /** Something to look at soon. */
  wake(): void
  started(start: RadioStart): void
  exited(kind: ExitClass, text: string): void
  stopped(seconds: number): void
}

/** How a supervisor is made. `random` gives 0 (inclusive) to 1 (exclusive). */
export interface SupervisorOptions {
  readonly context: Context
  /** Absolute path of the radio's own directory. */
  readonly directory: string
  readonly events: SupervisorEvents
  readonly backoff?: Backoff
}
