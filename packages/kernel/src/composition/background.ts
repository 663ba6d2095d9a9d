import { setTimeout as delay } from 'node:timers/promises'
import type { Log } from '@steeple/contracts'

/** SQLite's own check of a large table does not end before its next row of results, ms. */
const ENDS_MS = 1_000

/** Work that nobody waits for while the service runs. */
export interface Background {
  /** Fires when it is to end. */
  readonly signal: AbortSignal
  /** `failure` is what the log says when it fails; not after `stop`. */
  run(failure: string, work: Promise<void>): void
  /** Has it end. */
  stop(): void
  /** Waits for its end, but not for long: it should write nothing once it was told to stop. */
  over(): Promise<void>
}

/** Nothing is at work yet. */
export function createBackground(log: Log): Background {
  const stopping = new AbortController()
  const { signal } = stopping
  const atWork = new Set<Promise<void>>()
  return {
    signal,
    run: (failure, work) => {
      const ended = work.catch((error: unknown) => {
        if (!signal.aborted) log.error({ err: error }, failure)
      })
      atWork.add(ended)
      void ended.then(() => atWork.delete(ended))
    },
    stop: () => stopping.abort(),
    over: async () => {
      await Promise.race([Promise.all(atWork), delay(ENDS_MS, undefined, { ref: false })])
    },
  }
}
