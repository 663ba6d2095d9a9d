import type { TraceParent } from '@steeple/contracts'
import type { Tracing } from '@steeple/telemetry'
import type { CallResult } from './call.ts'

/** Keys whose traces are remembered at a time; those of others are lost. */
const MOST_KEYS = 10_000
/** Traces that one key is remembered for. */
const MOST_TRACES = 8
/** Traces that one call is told in. */
const MOST_TOLD = 32

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
