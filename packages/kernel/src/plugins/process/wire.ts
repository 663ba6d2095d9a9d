import type { JsonSchema, Labels, MutatingRoute, ReadRoute, Reconciler } from '@steeple/contracts'

/** What goes over the channel between the service and a plugin's process, as structured clones. */
export type Message =
  | { readonly t: 'call'; readonly id: number; readonly method: string; readonly args: readonly unknown[] }
  | { readonly t: 'tell'; readonly method: string; readonly args: readonly unknown[] }
  | { readonly t: 'ok'; readonly id: number; readonly value: unknown }
  | { readonly t: 'fail'; readonly id: number; readonly error: WireError }
  | { readonly t: 'abort'; readonly id: number }

/** An error in transit. Without a code it was none of the catalogue. */
export interface WireError {
  readonly code: string | undefined
  readonly status: number | undefined
  readonly message: string
  readonly details: readonly { readonly pointer: string; readonly message: string }[] | undefined
  readonly retryAfterS: number | undefined
}

/** A service as seen from the other process: its methods by name, its plain values as they were. */
export interface WireService {
  readonly id: string
  readonly methods: readonly string[]
  readonly values: Readonly<Record<string, unknown>>
}

/** What the module of a plugin says before it is set up. */
export interface WirePlugin {
  readonly config: JsonSchema | undefined
  readonly migrations: number
}

/** What a copy in the other process contributes; functions are called by their place in the lists. */
export interface WireInstance {
  readonly routes: readonly (Omit<ReadRoute, 'handle'> | Omit<MutatingRoute, 'handle'>)[]
  readonly reconcilers: readonly Omit<Reconciler, 'keys' | 'reconcile'>[]
  readonly services: readonly WireService[]
  readonly hasHealth: boolean
}

/** What a copy in the other process is set up with. */
export interface WireSetup {
  readonly id: string
  readonly version: string
  readonly config: unknown
  readonly settings: unknown
  readonly services: readonly WireService[]
}

/** The parts of a request that can cross. Credentials are not among the headers. */
export interface WireRequest {
  readonly id: string
  readonly params: unknown
  readonly query: unknown
  readonly principal: unknown
  readonly headers: Readonly<Record<string, string>>
}

/** One declaration or one update of a metric. */
export type WireMetric =
  | {
      readonly op: 'declare'
      readonly kind: 'counter' | 'gauge' | 'histogram'
      readonly name: string
      readonly help: string
      readonly labels: readonly string[]
      readonly buckets: readonly number[]
    }
  | { readonly op: 'update'; readonly name: string; readonly value: number; readonly labels: Labels }
