import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Clock } from '@steeple/contracts'

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
