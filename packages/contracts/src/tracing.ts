import { type ServiceRef, serviceRef } from './service-ref.ts'

/** A place in a trace, as `traceparent` of W3C Trace Context has it: `00-<trace id>-<span id>-<flags>`. */
export type TraceParent = string

/** What a piece of work is, in a trace. No secret, no IMSI and nothing that somebody typed may be in it. */
export interface SpanFacts {
  /** From a closed set: `mutation sim.issue`, `GET /v1/sims/:imsi`. */
  readonly name: string
  /** `server`: in answer to somebody; `client`: it asks somebody else; `internal` when absent. */
  readonly kind?: 'server' | 'client' | 'internal'
  readonly attributes?: Readonly<Record<string, string | number | boolean>>
  /** Under what it goes on; under the work around it when absent. */
  readonly parent?: TraceParent
  /** Of other traces that have to do with it. */
  readonly links?: readonly TraceParent[]
  /** When it began, ms since the epoch, if that was before. */
  readonly startedAtMs?: number
}

/** A piece of work that has begun. */
export interface Span {
  readonly traceparent: TraceParent
  set(name: string, value: string | number | boolean): void
  /** Once; `error` is why it went wrong, of which no more than a code is kept. */
  end(error?: unknown): void
}

/** Keeps traces of what the service does. Nothing of it may throw. */
export interface Tracer {
  /** Whether traces go anywhere: otherwise nobody asks for one. */
  readonly isOn: boolean
  begin(facts: SpanFacts): Span
  /** Does work as a part of a span; of none when it is undefined. */
  within<T>(span: Span | undefined, work: () => T): T
  /** The span that the caller's work is a part of; undefined when that is over, too. */
  current(): TraceParent | undefined
}
export const tracerRef: ServiceRef<Tracer> = serviceRef<Tracer>('tracing.tracer', {
  isOn: 'boolean',
  begin: 'function',
  within: 'function',
  current: 'function',
})
