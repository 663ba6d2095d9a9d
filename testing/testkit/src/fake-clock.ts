import { setImmediate as nextTurn, setTimeout as wait } from 'node:timers/promises'
import { type Clock, messageOf, type Outcome, type Reconciler } from '@steeple/contracts'

/** What the kernel makes of one call with one key: its outcome, converged without one, `failed` when the call throws. */
export async function reconcileOne(
  reconciler: Reconciler | undefined,
  key: string,
  signal: AbortSignal = new AbortController().signal,
): Promise<Outcome> {
  if (reconciler === undefined) throw new Error('the plugin has no such reconciler')
  try {
    const outcomes = await reconciler.reconcile([key], signal)
    return 'state' in outcomes ? outcomes : (outcomes.get(key) ?? { state: 'converged' })
  } catch (error) {
    return { state: 'failed', reason: messageOf(error) }
  }
}

/** Time of the clock for each step, which takes 1 ms or as long as what falls due, ms. */
const STEP_MS = 10
/** On a busy machine a step is as long as the one before took, but not longer than this, ms. */
const LONGEST_STEP_MS = 200

/**
 * Lets the time of a fake clock go by itself, up to ten times as fast as it would, until the answer is called.
 *
 * It stands still while what fell due is at work, so that time limits of the code under test hold on a busy machine.
 */
export function letTimePass(clock: FakeClock): () => Promise<void> {
  let isOver = false
  const passing = (async () => {
    for (let lastMs = performance.now(); !isOver; ) {
      const nowMs = performance.now()
      // Whole: the wall clock of a machine has no fractions of a millisecond.
      await clock.advance(Math.round(Math.min(Math.max(STEP_MS, nowMs - lastMs), LONGEST_STEP_MS)))
      lastMs = nowMs
      await wait(1)
    }
  })()
  return async () => {
    isOver = true
    await passing
  }
}

/** Names a timer of a `FakeClock`. */
export type FakeTimer = number

/** Timers as code under test may take them. */
export interface Timers {
  setTimeout(task: () => void | Promise<void>, delayMs: number): FakeTimer
  setInterval(task: () => void | Promise<void>, everyMs: number): FakeTimer
  clearTimeout(timer: FakeTimer | undefined): void
  clearInterval(timer: FakeTimer | undefined): void
}

/** Time that stands still until a test moves it. */
export interface FakeClock extends Clock, Timers {
  /** Timers that are still to fire. */
  readonly pending: number
  /**
   * Moves both clocks and fires what falls due, in order. The promise of each task is awaited, so a task must not
   * wait for a later timer. I/O that the tasks began gets a few turns of the event loop.
   */
  advance(ms: number): Promise<void>
  /**
   * Moves both clocks at once and fires what fell due meanwhile, once each, as a machine that was held up for as long: what is due
   * every second costs a day of `advance` its 86,400 turns.
   */
  leap(ms: number): Promise<void>
  /** Sets the wall clock alone, as an operator or NTP would. No timer fires. */
  jump(nowMs: number): void
}

interface Entry {
  readonly task: () => void | Promise<void>
  readonly everyMs: number | undefined
  dueMs: number
}

const SETTLE_TURNS = 5

async function settle(): Promise<void> {
  for (let turn = 0; turn < SETTLE_TURNS; turn += 1) await nextTurn()
}

/** A clock that starts at `startMs` (2026-01-01T00:00:00Z when absent); `monotonicMs` starts at 0. */
export function fakeClock(startMs: number = Date.UTC(2026, 0, 1)): FakeClock {
  let offsetMs = startMs
  let elapsedMs = 0
  let lastTimer = 0
  const entries = new Map<FakeTimer, Entry>()
  const add = (task: Entry['task'], delayMs: number, everyMs: number | undefined): FakeTimer => {
    lastTimer += 1
    entries.set(lastTimer, { task, everyMs, dueMs: elapsedMs + Math.max(delayMs, 0) })
    return lastTimer
  }
  const clear = (timer: FakeTimer | undefined): void => {
    if (timer !== undefined) entries.delete(timer)
  }
  const nextDue = (endMs: number): readonly [FakeTimer, Entry] | undefined => {
    let first: readonly [FakeTimer, Entry] | undefined
    for (const item of entries) {
      if (item[1].dueMs <= endMs && (first === undefined || item[1].dueMs < first[1].dueMs)) first = item
    }
    return first
  }
  const fire = async (timer: FakeTimer, entry: Entry): Promise<void> => {
    elapsedMs = entry.dueMs
    if (entry.everyMs === undefined) entries.delete(timer)
    else entry.dueMs += Math.max(entry.everyMs, 1)
    await entry.task()
    await settle()
  }
  return {
    nowMs: () => offsetMs + elapsedMs,
    monotonicMs: () => elapsedMs,
    setTimeout: (task, delayMs) => add(task, delayMs, undefined),
    setInterval: (task, everyMs) => add(task, everyMs, everyMs),
    clearTimeout: clear,
    clearInterval: clear,
    get pending() {
      return entries.size
    },
    jump: (nowMs) => {
      offsetMs = nowMs - elapsedMs
    },
    advance: async (ms) => {
      const endMs = elapsedMs + ms
      await settle()
      for (let due = nextDue(endMs); due !== undefined; due = nextDue(endMs)) await fire(...due)
      elapsedMs = endMs
      await settle()
    },
    leap: async (ms) => {
      await settle()
      elapsedMs += ms
      for (const [timer, entry] of [...entries].sort(([, one], [, other]) => one.dueMs - other.dueMs)) {
        if (entry.dueMs > elapsedMs || !entries.has(timer)) continue
        entry.dueMs = elapsedMs
        await fire(timer, entry)
      }
    },
  }
}
