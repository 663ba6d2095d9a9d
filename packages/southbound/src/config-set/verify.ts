import type { ContainerState, Engine } from '../engine/engine.ts'
import { lastWords } from '../engine/engine.ts'
import { abortable, pause } from '../time-limit.ts'

/** Bounds of an apply, ms unless named otherwise. */
export interface Limits {
  /** What a daemon gets to end before it is killed, s. */
  readonly stopTimeoutS: number
  /** How long a container has to run without a restart before the next daemon is touched. */
  readonly settleMs: number
  /** How long all of a core's restarted daemons may take to get well. */
  readonly healthMs: number
  readonly pollMs: number
}

/** Limits when nobody sets others. */
export const DEFAULT_LIMITS: Limits = { stopTimeoutS: 10, settleMs: 1_500, healthMs: 30_000, pollMs: 250 }

export type Addresses = Readonly<Record<string, string>>

/**
 * Whether a daemon does its work, as the driver sees it: undefined when it does, else what is missing. `addresses` are
 * those of the set that it runs with now: on the way back they are not the ones of the configuration.
 */
export type Probe = (daemon: string, signal: AbortSignal, addresses: Addresses) => Promise<string | undefined>

/** A probe that knows where to ask. */
export type PlacedProbe = (daemon: string, signal: AbortSignal) => Promise<string | undefined>

/** What one look of a probe may take, ms. */
const LONGEST_LOOK_MS = 5_000
/** How much earlier than an engine notes the start a program may already have spoken, ms. */
const EARLY_MS = 300
/** Starts of one container, its restart among them, after which it is taken for one that does not stay up. */
const MOST_STARTS = 3

/** How a container took its restart. */
interface Settled {
  /** That it does not stay up, in words; undefined once it ran for `settleMs` without a restart. */
  readonly problem: string | undefined
  /** The first start that was seen, ms since the epoch: its words are in every run from then on. */
  readonly startedAtMs: number | undefined
}

/** Watches a container that was restarted until it stays up, or does not. */
export async function settled(
  engine: Engine,
  container: string,
  limits: Limits,
  signal: AbortSignal,
): Promise<Settled> {
  const deadlineMs = performance.now() + limits.settleMs + limits.healthMs
  const watch = watchOf(limits.settleMs)
  let startedAtMs: number | undefined
  for (;;) {
    const state = await engine.inspect(container, signal)
    startedAtMs ??= state?.startedAtMs
    if (state === undefined) return { problem: `the container ${container} is gone`, startedAtMs }
    const verdict = watch(state, performance.now())
    if (verdict === 'up') return { problem: undefined, startedAtMs }
    if (verdict === 'down' || performance.now() >= deadlineMs) {
      const ended = endWords(state)
      return {
        problem: ended === undefined ? 'it does not stay up' : `${ended} and does not stay up`,
        startedAtMs,
      }
    }
    await pause(limits.pollMs, signal)
  }
}

/** How a container that is down has ended, in words; undefined for one that runs, is gone or cannot be asked after. */
export async function endOf(
  engine: Engine,
  container: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    const state = await engine.inspect(container, signal)
    return state === undefined ? undefined : endWords(state)
  } catch {
    signal.throwIfAborted()
    return undefined // the complaint itself is reported without it
  }
}

function endWords({ exitCode }: ContainerState): string | undefined {
  return exitCode === undefined ? undefined : `it ended with code ${exitCode}`
}

/** Judges a container by what is seen of it one time after the other. */
function watchOf(settleMs: number): (state: ContainerState, nowMs: number) => 'up' | 'down' | 'unsure' {
  let run: number | undefined
  let sinceMs: number | undefined
  let starts = 0
  return ({ isRunning, startedAtMs }, nowMs) => {
    // Since when it is down, or up in one and the same run.
    const seen = isRunning ? (startedAtMs ?? 0) : undefined
    if (seen !== run || sinceMs === undefined) {
      sinceMs = nowMs
      starts += isRunning ? 1 : 0
    }
    run = seen
    if (starts > MOST_STARTS) return 'down'
    if (nowMs - sinceMs < settleMs) return 'unsure'
    return isRunning ? 'up' : 'down'
  }
}

/** A timer may fire so much before its time: a look that it cut short ends before the deadline then. */
const TIMER_EARLY_MS = 1

/**
 * Asks a probe until it is content; what is still missing at `deadlineMs` (of `performance.now()`). A look that the
 * deadline cuts short says less than the one before it.
 */
export async function probed(
  probe: PlacedProbe,
  daemon: string,
  deadlineMs: number,
  { pollMs }: Limits,
  signal: AbortSignal,
): Promise<string | undefined> {
  let before: string | undefined
  for (;;) {
    const problem = await asked(probe, daemon, deadlineMs, signal)
    if (problem === undefined) return undefined
    if (performance.now() >= deadlineMs - TIMER_EARLY_MS) return before ?? problem
    if (performance.now() + pollMs >= deadlineMs) return problem
    before = problem
    await pause(pollMs, signal)
  }
}

/** One look of a probe: what is missing. A probe that fails or hangs is not content. */
export async function asked(
  probe: PlacedProbe,
  daemon: string,
  deadlineMs: number,
  signal: AbortSignal,
): Promise<string | undefined> {
  const leftMs = Math.ceil(Math.max(1, Math.min(LONGEST_LOOK_MS, deadlineMs - performance.now())))
  const ending = new AbortController()
  try {
    const looking = probe(daemon, AbortSignal.any([signal, ending.signal]))
    return await abortable(looking, signal, leftMs)
  } catch (error) {
    signal.throwIfAborted()
    return error instanceof Error ? error.message : String(error)
  } finally {
    ending.abort()
  }
}

/**
 * What a container said since a start, by default its last one; fit to be shown, empty when it said nothing or cannot be
 * asked. An engine that starts it again and again makes its last run one that has not said anything yet.
 */
export async function wordsOfContainer(
  engine: Engine,
  container: string,
  signal: AbortSignal,
  firstStartMs?: number,
): Promise<string> {
  try {
    const startedAtMs = firstStartMs ?? (await engine.inspect(container, signal))?.startedAtMs
    const sinceMs = startedAtMs === undefined ? undefined : startedAtMs - EARLY_MS
    return lastWords(await engine.logsTail(container, 40, signal, sinceMs))
  } catch {
    signal.throwIfAborted()
    return '' // the complaint itself is reported without them
  }
}
