import type { Log, RunsOn } from '@steeple/contracts'
import type { Timers } from '../clock/deadline.ts'
import { inTerm, type Placement, termSignal } from './leadership.ts'

/** Periodic work of one owner. */
export interface Scheduler {
  /**
   * Runs `task` every `everyMs` ± 10 %, never twice at a time; by the leader when nothing is said. The first time comes after
   * one period, or soon after the start where that is sooner: a box that is off each night has work that is due each day.
   */
  every(everyMs: number, task: (signal: AbortSignal) => Promise<void>, runs?: RunsOn): void
  /** Lets the periods begin. Tasks given later begin at once. */
  start(): void
  /** Ends everything: no task begins again, those that run are aborted and awaited at most `STOP_BOUND_MS`. */
  close(): Promise<void>
}

/**
 * That something may be due now which was not a moment ago: time has leapt or is believed again, the machine has slept, a
 * term has begun, the configuration is another.
 */
export interface Reasons {
  tell(): void
  /** Until the returned function is called. */
  listen(listener: () => void): () => void
}

/** Makes them, heard by nobody yet. */
export function createReasons(): Reasons {
  const listeners = new Set<() => void>()
  return {
    tell: () => {
      for (const listener of listeners) listener()
    },
    listen: (listener) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}

/** What a scheduler needs. `random` gives 0 (inclusive) to 1 (exclusive). */
interface SchedulerOptions {
  readonly timers: Timers
  readonly log: Log
  /** What runs here; everything when absent. */
  readonly placement?: Placement | undefined
  /** Each has all tasks run soon, once, and by their periods from then on. */
  readonly reasons?: Reasons | undefined
  readonly random?: () => number
}

/** Half the width of the jitter, as a share of the period. */
const JITTER = 0.1
/** A period that is longer is not waited for at the start. */
const FIRST_MS = 10_000
/** What is woken runs within so long, not all at once. */
const WAKE_MS = 1_000
/** How long a task that was aborted may take to end. */
const STOP_BOUND_MS = 5_000

interface Work {
  readonly everyMs: number
  readonly task: () => Promise<void>
  timer: unknown
  isRunning: boolean
  /** Asked for once more while it ran. */
  isWoken: boolean
}

/** Makes a scheduler that stands still until `start`. */
export function createScheduler(options: SchedulerOptions): Scheduler {
  const { timers, log, placement, reasons, random = Math.random } = options
  const leaving = new AbortController()
  const all: Work[] = []
  const running = new Set<Promise<void>>()
  let isStarted = false
  const wake = (): void => {
    for (const work of isStarted ? all : []) {
      if (work.isRunning) work.isWoken = true
      else if (work.everyMs > WAKE_MS) plan(work, WAKE_MS * random())
    }
  }
  const deaf = reasons?.listen(wake)

  const plan = (work: Work, inMs: number): void => {
    if (leaving.signal.aborted) return
    timers.clearTimeout(work.timer)
    const delayMs = inMs * (1 - JITTER + 2 * JITTER * random())
    work.timer = timers.setTimeout(() => {
      work.timer = undefined
      const run = execute(work.task).finally(() => {
        running.delete(run)
        work.isRunning = false
        plan(work, work.isWoken ? Math.min(WAKE_MS, work.everyMs) : work.everyMs)
        work.isWoken = false
      })
      work.isRunning = true
      running.add(run)
    }, delayMs)
  }
  const begin = (work: Work): void => plan(work, Math.min(work.everyMs, FIRST_MS))

  const placed = (task: (signal: AbortSignal) => Promise<void>, runs: RunsOn) => async (): Promise<void> => {
    if (placement?.runsHere(runs) === false) return
    const term = runs === 'leader' ? placement?.term() : undefined
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
      const work: Work = {
        everyMs,
        task: placed(task, runs),
        timer: undefined,
        isRunning: false,
        isWoken: false,
      }
      all.push(work)
      if (isStarted) begin(work)
    },
    start: () => {
      isStarted = true
      for (const work of all) begin(work)
    },
    close: async () => {
      leaving.abort()
      deaf?.()
      for (const { timer } of all) timers.clearTimeout(timer)
      if (running.size === 0) return
      const bound = Promise.withResolvers<void>()
      const timer = timers.setTimeout(bound.resolve, STOP_BOUND_MS)
      await Promise.race([Promise.all(running), bound.promise])
      timers.clearTimeout(timer)
    },
  }
}
