import type { Introspection } from '@steeple/contracts'
import { type KernelLog, type MetricsBoard, scrubText } from '@steeple/telemetry'
import type { PluginRegistry } from '../plugins/registry.ts'
import type { LiveSettings } from './live-settings.ts'

/** What of a kernel is looked into. */
export interface Looked {
  readonly log: KernelLog
  readonly settings: LiveSettings
  readonly metrics: MetricsBoard
  /** Metrics of what serves requests. */
  readonly edge: { metricsText(): string }
  readonly registry: PluginRegistry
}

/** What a kernel tells of itself: see `Introspection`. */
export function introspection({ log, settings, metrics, edge, registry }: Looked): Introspection {
  return {
    logLines: () => log.recent(),
    configSchema: () => settings.schema(),
    metricsText: async () => `${await metrics.text()}${edge.metricsText()}`,
    plugins: () =>
      registry.list().map(({ name, version, kind, state, health, loadedAtMs, error }) => ({
        name,
        version,
        kind,
        state,
        health,
        loadedAtMs,
        error,
      })),
    scrub: (text) => scrubText(text),
  }
}
