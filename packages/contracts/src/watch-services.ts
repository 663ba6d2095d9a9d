import type { ImsiHash } from './drivers.ts'
import type { Labels } from './plugin.ts'
import { type ServiceRef, serviceRef } from './service-ref.ts'
import type { ComponentState } from './services.ts'

// ---- provided by the kernel ----

/** One series of a metric as it stands. */
export interface MetricSample {
  readonly labels: Labels
  /** Of a histogram the sum of what was observed. */
  readonly value: number
  /** Of a histogram how much was observed; absent otherwise. */
  readonly count?: number
}
/** A metric as it stands on this instance. */
export interface MetricReading {
  readonly kind: 'gauge' | 'counter' | 'histogram'
  readonly samples: readonly MetricSample[]
}
/** The metrics of this instance by name, as `/metrics` shows them, without the cost of all the others. */
export interface MetricsReader {
  /** Those of the names that somebody has registered; the base name of a histogram. */
  read(names: readonly string[]): Promise<ReadonlyMap<string, MetricReading>>
}
export const metricsReaderRef: ServiceRef<MetricsReader> = serviceRef<MetricsReader>('kernel.metrics', {
  read: 'function',
})

// ---- provided by nodes ----

/** What the newest heartbeat of a node says. */
export interface AgentView {
  readonly nodeId: string
  readonly name: string
  /** Whether the heartbeat is older than three of its intervals. Contract section 4. */
  readonly isStale: boolean
  readonly silentMs: number
  /** Its clock less this one's when the heartbeat came; what is under way counts as behind. */
  readonly skewMs: number
  /** As `GET /v1/health` shows them: the heartbeat first, `node/<id>`, then what it reported, `node/<id>/<name>`. */
  readonly components: readonly ComponentState[]
}
/** The nodes that have sent a heartbeat. */
export interface AgentWatch {
  agents(): Promise<readonly AgentView[]>
}
export const agentWatchRef: ServiceRef<AgentWatch> = serviceRef<AgentWatch>('nodes.agents', {
  agents: 'function',
})

// ---- provided by a plugin that keeps quotas ----

/** SIMs whose quota of this period is used up to an edge, with the percentage used. The same object until it is looked at anew. */
export interface QuotaEdges {
  /** At 80 % or more, those over 100 % included. */
  readonly warned: ReadonlyMap<ImsiHash, number>
  /** At 100 % or more. */
  readonly exceeded: ReadonlyMap<ImsiHash, number>
}
/** What an instance knows of quotas that come to an end. */
export interface QuotaWatch {
  /** Undefined until all quotas have been looked at once. */
  edges(): Promise<QuotaEdges | undefined>
}
export const quotaWatchRef: ServiceRef<QuotaWatch> = serviceRef<QuotaWatch>('fair_use.edges', {
  edges: 'function',
})
