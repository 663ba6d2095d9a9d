import type { Log } from '@steeple/contracts'
import { type Timers, within } from '../clock/deadline.ts'

/** Owns everything that one live copy of a plugin opens. */
export interface Scope {
  /** Fires when the plugin's routes are withdrawn. */
  readonly retiring: AbortSignal
  /** Runs at `close`, newest first; at once when the scope is closed already. */
  defer(step: () => void | Promise<void>): void
  /** Fires `retiring`. */
  retire(): void
  /** Retires, then runs the deferred steps, each bounded; one that fails is logged and the rest goes on. */
  close(): Promise<void>
}

/** How long one deferred step may take. */
const STEP_BOUND_MS = 5_000

/** Makes an open scope. */
export function createScope(timers: Timers, log: Log): Scope {
  const leaving = new AbortController()
  const steps: (() => void | Promise<void>)[] = []
  let isClosed = false

  const run = async (step: () => void | Promise<void>): Promise<void> => {
    try {
      await within(timers, STEP_BOUND_MS, 'a deferred step', async () => await step())
    } catch (error) {
      log.error({ err: error }, 'deferred step failed')
    }
  }

  return {
    retiring: leaving.signal,
    defer: (step) => {
      if (isClosed) void run(step)
      else steps.push(step)
    },
    retire: () => leaving.abort(),
    close: async () => {
      leaving.abort()
      isClosed = true
      for (let step = steps.pop(); step !== undefined; step = steps.pop()) await run(step)
    },
  }
}
