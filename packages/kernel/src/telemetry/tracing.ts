import type { Span, SpanFacts, TraceParent, Tracer } from '@steeple/contracts'

/** Traces where there is a tracer; otherwise a check of one field and no more. */
export interface Tracing {
  readonly isOn: boolean
  /** From now on that one; none when undefined. */
  use(tracer: Tracer | undefined): void
  /** What the caller's work is a part of. */
  current(): TraceParent | undefined
  /** Does work as a span of its own, which ends with it. */
  span<T>(facts: SpanFacts, work: (span: Span | undefined) => Promise<T>): Promise<T>
  /** Does work as a part of nothing, whoever began it. */
  detached<T>(work: () => T): T
  /** A span of work that was done elsewhere, and is over now. */
  note(facts: SpanFacts, error?: unknown): void
}

/** Tracing without a tracer. */
export function createTracing(): Tracing {
  let tracer: Tracer | undefined
  return {
    get isOn() {
      return tracer !== undefined
    },
    use: (next) => {
      tracer = next?.isOn === true ? next : undefined
    },
    current: () => tracer?.current(),
    span: async (facts, work) => {
      if (tracer === undefined) return await work(undefined)
      const span = tracer.begin(facts)
      try {
        const result = await tracer.within(span, () => work(span))
        span.end()
        return result
      } catch (error) {
        span.end(error)
        throw error
      }
    },
    detached: (work) => (tracer === undefined ? work() : tracer.within(undefined, work)),
    note: (facts, error) => tracer?.begin(facts).end(error),
  }
}
