import type { Log } from '@steeple/contracts'
import type { Timers } from './timers.ts'

/** Periodic work of one owner. */
export interface Scheduler {
  /** Runs `task` every `everyMs` ± 10 %, the first time after one period, never twice at a time. */
  every(everyMs: number, task: (signal: AbortSignal) => Promise<void>): void
  /** Lets the periods begin. Tasks given later begin at once. */
  start(): void
  /** Ends everything: no task begins again, those that run are aborted and awaited at most `STOP_BOUND_MS`. */
  close(): Promise<void>
}

/** What a scheduler needs. `random` gives 0 (inclusive) to 1 (exclusive). */
export interface SchedulerOptions {
  readonly timers: Timers
  readonly log: Log
  readonly random?: () => number
}

/** Half the width of the jitter, as a share of the period. */
const JITTER = 0.1
/** How long a task that was aborted may take to end. */
const STOP_BOUND_MS = 5_000

/** Makes a scheduler that stands still until `start`. */
export function createScheduler({ timers, log, random = Math.random }: SchedulerOptions): Scheduler {
  const leaving = new AbortController()
  const pending = new Set<unknown>()
  const running = new Set<Promise<void>>()
  const waiting: (() => void)[] = []
  let isStarted = false

  const plan = (everyMs: number, task: (signal: AbortSignal) => Promise<void>): void => {
    if (leaving.signal.aborted) return
    const delayMs = everyMs * (1 - JITTER + 2 * JITTER * random())
    const timer = timers.setTimeout(() => {
      pending.delete(timer)
      const run = execute(task).finally(() => {
        running.delete(run)
        plan(everyMs, task)
      })
      running.add(run)
    }, delayMs)
    pending.add(timer)
  }

  const execute = async (task: (signal: AbortSignal) => Promise<void>): Promise<void> => {
    try {
      await task(leaving.signal)
    } catch (error) {
      if (!leaving.signal.aborted) log.error({ err: error }, 'periodic task failed')
    }
  }

  return {
    every: (everyMs, task) => {
      if (isStarted) plan(everyMs, task)
      else waiting.push(() => plan(everyMs, task))
    },
    start: () => {
      isStarted = true
      for (const begin of waiting.splice(0)) begin()
    },
    close: async () => {
      leaving.abort()
      for (const timer of pending) timers.clearTimeout(timer)
      pending.clear()
      if (running.size === 0) return
      const bound = Promise.withResolvers<void>()
      const timer = timers.setTimeout(bound.resolve, STOP_BOUND_MS)
      await Promise.race([Promise.all(running), bound.promise])
      timers.clearTimeout(timer)
    },
  }
}
