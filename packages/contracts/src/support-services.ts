import type { JsonSchema } from './json-schema.ts'
import type { PluginKind } from './plugin.ts'
import { type ServiceRef, serviceRef } from './service-ref.ts'
import type { Settings } from './settings.ts'

// ---- provided by the kernel ----

/** Levels of the log, least urgent first: debug, info, warn, error. */
export type LogLevel = Settings['server']['log_level']

/** A level that holds for a time in place of the configuration's. */
export interface LogLevelHold {
  /** Undefined: of all that have none of their own. */
  readonly component: string | undefined
  readonly level: LogLevel
  /** When it is over, ms since the epoch. */
  readonly untilMs: number
}

/** The level of the log by component: a plugin, or a part of the kernel. */
export interface LogControl {
  /** Whatever writes into the log, by name. */
  components(): readonly string[]
  /** The level of the configuration. */
  level(): LogLevel
  /** Another level for so long, of one component or (undefined) of all without one of their own; no level ends that. */
  hold(component: string | undefined, level: LogLevel | undefined, forMs: number): void
  /** What holds now. A restart ends all of it. */
  holds(): readonly LogLevelHold[]
}
export const logControlRef: ServiceRef<LogControl> = serviceRef<LogControl>('kernel.log_control', {
  components: 'function',
  level: 'function',
  hold: 'function',
  holds: 'function',
})

/** Where one plugin stands; see `GET /v1/plugins`. */
export interface PluginStanding {
  readonly name: string
  readonly version: string
  readonly kind: PluginKind | undefined
  readonly state: string
  readonly health: string
  /** Ms since the epoch; undefined while it does not run. */
  readonly loadedAtMs: number | undefined
  readonly error: string | undefined
}

/** What the service knows of itself and nobody else asks for: what helps those who help. */
export interface Introspection {
  /** The last lines of the log as JSON, redacted, the oldest first; less than 1 MiB. */
  logLines(): readonly string[]
  /** The schema of the configuration in force, that of plugins included. */
  configSchema(): JsonSchema
  /** All metrics in the text exposition format, those of HTTP too. */
  metricsText(): Promise<string>
  plugins(): readonly PluginStanding[]
  /** The text without tokens, keys, raw IMSIs and values that plugins keep secret, as a log line would have it. */
  scrub(text: string): string
}
export const introspectionRef: ServiceRef<Introspection> = serviceRef<Introspection>('kernel.introspection', {
  logLines: 'function',
  configSchema: 'function',
  metricsText: 'function',
  plugins: 'function',
  scrub: 'function',
})
