import { randomBytes } from 'node:crypto'
import { type Timers, within } from '@steeple/clock'
import type { Clock, Log, Outcome, Reconciler } from '@steeple/contracts'

/** One running call of a reconciler. */
export interface Call {
  readonly keys: ReadonlySet<string>
  readonly isUrgent: boolean
  readonly abort: AbortController
  /** Keys that somebody asked for since the call began, and whether as urgent. */
  readonly again: Map<string, boolean>
  isTimedOut: boolean
  /** It ignores its signal: nobody waits for it any more. */
  isAbandoned: boolean
  done: Promise<void>
}

/** How a call ended. Without outcomes it threw. */
export interface CallResult {
  readonly outcomes?: Outcome | ReadonlyMap<string, Outcome>
  readonly error?: unknown
  /** For log lines. */
  readonly facts: { readonly resource: string; readonly count: number; readonly tookMs: number }
}

/** Bound on one call when the reconciler names none. */
const CALL_BOUND_MS = 60_000
/** How long an aborted call may take to end before the controller goes on without it. */
const ABORT_BOUND_MS = 5_000
/** How many keys a log line names. */
const LOGGED_KEYS = 5

/** A call that has not begun. */
export function createCall(keys: readonly string[], isUrgent: boolean): Call {
  return {
    keys: new Set(keys),
    isUrgent,
    abort: new AbortController(),
    again: new Map(),
    isTimedOut: false,
    isAbandoned: false,
    done: Promise.resolve(),
  }
}

/** Runs a call to its end; aborts it when its time is over. Never throws. */
export async function runCall(
  reconciler: Reconciler,
  call: Call,
  { clock, timers, log }: { readonly clock: Clock; readonly timers: Timers; readonly log: Log },
): Promise<CallResult> {
  const reconcileId = randomBytes(4).toString('hex')
  const facts = { reconcileId, resource: reconciler.resource, count: call.keys.size }
  const startedMs = clock.monotonicMs()
  const timer = timers.setTimeout(() => {
    call.isTimedOut = true
    call.abort.abort()
    log.error({ ...facts, keys: loggedKeys(call) }, 'reconcile call timed out')
  }, reconciler.timeoutMs ?? CALL_BOUND_MS)
  const result = await attempt(reconciler, call)
  timers.clearTimeout(timer)
  return { ...result, facts: { ...facts, tookMs: clock.monotonicMs() - startedMs } }
}

/** Aborts a call and waits for its end. False when it ignores its signal: then it is abandoned. */
export async function abortCall(
  call: Call,
  resource: string,
  { timers, log }: { readonly timers: Timers; readonly log: Log },
): Promise<boolean> {
  call.abort.abort()
  try {
    await within(timers, ABORT_BOUND_MS, 'the aborted call', async () => await call.done)
    return true
  } catch (error) {
    call.isAbandoned = true
    log.error({ resource, err: error }, 'reconcile call ignores its abort signal')
    return false
  }
}

/** The first keys of a call, for a log line. */
export function loggedKeys({ keys }: Call): readonly string[] {
  return [...keys].slice(0, LOGGED_KEYS)
}

async function attempt(reconciler: Reconciler, call: Call): Promise<Pick<CallResult, 'outcomes' | 'error'>> {
  try {
    const outcomes = await reconciler.reconcile([...call.keys], call.abort.signal)
    return typeof outcomes === 'object' && outcomes !== null
      ? { outcomes }
      : { error: new TypeError('reconcile gave no outcome') }
  } catch (error) {
    return { error }
  }
}
