import type { Timers } from '@steeple/clock'
import type { Log, RunsOn } from '@steeple/contracts'
import { inTerm, termSignal } from './leadership.ts'
import type { Places } from './places.ts'

/** Periodic work of one owner. */
export interface Scheduler {
  /**
   * Runs `task` every `everyMs` ± 10 %, the first time after one period, never twice at a time; by the leader when
   * nothing is said.
   */
  every(everyMs: number, task: (signal: AbortSignal) => Promise<void>, runs?: RunsOn): void
  /** Lets the periods begin. Tasks given later begin at once. */
  start(): void
  /** Ends everything: no task begins again, those that run are aborted and awaited at most `STOP_BOUND_MS`. */
  close(): Promise<void>
}

/** What a scheduler needs. `random` gives 0 (inclusive) to 1 (exclusive). */
export interface SchedulerOptions {
  readonly timers: Timers
  readonly log: Log
  /** What runs here; everything when absent. */
  readonly places?: Places
  readonly random?: () => number
}

/** Half the width of the jitter, as a share of the period. */
const JITTER = 0.1
/** How long a task that was aborted may take to end. */
const STOP_BOUND_MS = 5_000

/** Makes a scheduler that stands still until `start`. */
export function createScheduler({ timers, log, places, random = Math.random }: SchedulerOptions): Scheduler {
  const leaving = new AbortController()
  const pending = new Set<unknown>()
  const running = new Set<Promise<void>>()
  const waiting: (() => void)[] = []
  let isStarted = false

  const plan = (everyMs: number, task: () => Promise<void>): void => {
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

  const placed = (task: (signal: AbortSignal) => Promise<void>, runs: RunsOn) => async (): Promise<void> => {
    if (places?.runsHere(runs) === false) return
    const term = runs === 'leader' ? places?.term() : undefined
    if (term === undefined) await task(leaving.signal)
    else await inTerm(term, () => task(termSignal(term, leaving.signal)))
  }

  const execute = async (task: () => Promise<void>): Promise<void> => {
    try {
      await task()
    } catch (error) {
      if (!leaving.signal.aborted) log.error({ err: error }, 'periodic task failed')
    }
  }

  return {
    every: (everyMs, task, runs = 'leader') => {
      const own = placed(task, runs)
      if (isStarted) plan(everyMs, own)
      else waiting.push(() => plan(everyMs, own))
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
