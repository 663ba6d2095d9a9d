import { randomBytes } from 'node:crypto'
import type { Clock, Log, Outcome, Reconciler, TraceParent } from '@steeple/contracts'
import { type Timers, within } from '../clock/deadline.ts'
import type { Tracing } from '../telemetry/tracing.ts'

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

/** Which traces asked for a key, until it has converged: a mutation and what carries it out are one trace. */
export interface TraceBook {
  /** A key was asked for in a trace. */
  add(resource: string, key: string, trace: TraceParent): void
  /**
   * Does a call as a part of the traces that asked for its keys: of the first one it is a part, in the others it is told. One
   * that nobody asked for is part of none.
   */
  traced(resource: string, keys: ReadonlySet<string>, call: () => Promise<CallResult>): Promise<CallResult>
}

/** Bound on one call when the reconciler names none. */
const CALL_BOUND_MS = 60_000
/** How long an aborted call may take to end before the controller goes on without it. */
const ABORT_BOUND_MS = 5_000
/** How many keys a log line names. */
const LOGGED_KEYS = 5
/** Keys whose traces are remembered at a time; those of others are lost. */
const MOST_KEYS = 10_000
/** Traces that one key is remembered for. */
const MOST_TRACES = 8
/** Traces that one call is told in. */
const MOST_TOLD = 32

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

/** What a call needs. `traces`: those that asked for its keys. */
interface CallParts {
  readonly clock: Clock
  readonly timers: Timers
  readonly log: Log
  readonly traces?: TraceBook | undefined
}

/** Runs a call to its end, as a part of the traces that asked for its keys; aborts it when its time is over. Never throws. */
export async function runCall(reconciler: Reconciler, call: Call, parts: CallParts): Promise<CallResult> {
  const bounded = (): Promise<CallResult> => boundedCall(reconciler, call, parts)
  return await (parts.traces?.traced(reconciler.resource, call.keys, bounded) ?? bounded())
}

async function boundedCall(
  reconciler: Reconciler,
  call: Call,
  { clock, timers, log }: CallParts,
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

/** A book that is empty, and stays so as long as there is no tracer. */
export function createTraceBook(tracing: Tracing, nowMs: () => number): TraceBook {
  const book = new Map<string, readonly TraceParent[]>()
  const idOf = (resource: string, key: string): string => `${resource}/${key}`
  const add = (resource: string, key: string, traces: readonly TraceParent[]): void => {
    const id = idOf(resource, key)
    const known = book.get(id)
    if (known === undefined && book.size >= MOST_KEYS) return
    book.set(id, [...new Set([...(known ?? []), ...traces])].slice(0, MOST_TRACES))
  }
  const take = (resource: string, key: string): readonly TraceParent[] => {
    const id = idOf(resource, key)
    const traces = book.get(id) ?? []
    book.delete(id)
    return traces
  }
  return {
    add: (resource, key, trace) => add(resource, key, [trace]),
    traced: async (resource, keys, call) => {
      if (!tracing.isOn) {
        book.clear()
        return await call()
      }
      const taken = new Map([...keys].map((key) => [key, take(resource, key)]))
      const [first, ...others] = [...new Set([...taken.values()].flat())].slice(0, MOST_TOLD)
      if (first === undefined) return await tracing.detached(call)
      const facts = {
        name: `reconcile ${resource}`,
        attributes: { 'svc.resource': resource, 'svc.keys': keys.size },
      }
      const startedAtMs = nowMs()
      const result = await tracing.span({ ...facts, parent: first, links: others }, async (span) => {
        const ended = await call()
        if (ended.outcomes === undefined) span?.set('svc.failed', true)
        return ended
      })
      for (const parent of others) tracing.note({ ...facts, parent, links: [first], startedAtMs })
      for (const [key, traces] of taken)
        if (traces.length > 0 && !isOver(result, key)) add(resource, key, traces)
      return result
    },
  }
}

/** Whether nobody looks at the key again for the sake of what asked for it. */
function isOver({ outcomes }: CallResult, key: string): boolean {
  if (outcomes === undefined) return false
  const outcome = 'state' in outcomes ? outcomes : outcomes.get(key)
  return outcome === undefined || outcome.state === 'converged' || outcome.state === 'terminal'
}
