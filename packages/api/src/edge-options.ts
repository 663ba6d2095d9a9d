import type { PlannedSettings } from '@steeple/settings'
import type { BodyLimits } from './pipeline/body-space.ts'
import type { FailureLimits } from './pipeline/failed-credentials.ts'
import type { SchemaChecks } from './pipeline/schema-checks.ts'
import type { ShareLimits } from './pipeline/shares.ts'

/** Bounds of the edge. Times in ms, sizes in bytes. */
export interface EdgeLimits {
  /** How long a swap or a close waits for requests in flight. Architecture, "Life of a plugin". */
  readonly drainMs: number
  /** The same for a close, when shorter: who ends the service does not wait for a client that never finishes. */
  readonly closeMs: number
  /** Within which the headers of a request must have arrived. */
  readonly headersTimeoutMs: number
  /** Within which a buffered body must have arrived, and the longest pause inside a streamed one. */
  readonly bodyTimeoutMs: number
  /** How long an idle connection stays open. */
  readonly keepAliveMs: number
  /** Request line and headers together. */
  readonly headerBytes: number
  /** How long an answer waits for a client that does not read. */
  readonly streamStallMs: number
  /** How long the rest of a body that nobody reads may go on arriving after the answer. */
  readonly unreadBodyMs: number
  /** Pause between two comments on an idle event stream. */
  readonly heartbeatMs: number
  /** Pause between two checks that the credential of an event stream still holds. */
  readonly recheckMs: number
  /** Pause between two looks at the certificates of open connections when nothing has changed. */
  readonly certificatesMs: number
  /** Event streams at a time; an eighth of them is kept for administrators. */
  readonly eventStreams: number
  /** Event streams of one principal at a time. */
  readonly eventStreamsEach: number
  /** Refusals for want of a role, per principal and minute, that are audited; beyond them 429. */
  readonly denialsPerMinute: number
  /** Connections at a time. */
  readonly connections: number
  /** What each principal, and each address without a credential, may use at a time. */
  readonly share: ShareLimits
  readonly bodies: BodyLimits
  readonly failures: FailureLimits
}

const MIB = 1_048_576

/** The bounds in force when none are given. */
export const DEFAULT_LIMITS: EdgeLimits = {
  drainMs: 5_000,
  closeMs: 2_000,
  headersTimeoutMs: 10_000,
  bodyTimeoutMs: 30_000,
  keepAliveMs: 72_000,
  headerBytes: 16_384,
  streamStallMs: 30_000,
  unreadBodyMs: 5_000,
  heartbeatMs: 15_000,
  recheckMs: 2_000,
  certificatesMs: 10_000,
  eventStreams: 64,
  eventStreamsEach: 8,
  denialsPerMinute: 60,
  connections: 4_096,
  share: { running: 64, waiting: 4_096, unreadBytes: 8 * MIB, unreadBytesInAll: 32 * MIB },
  bodies: { each: 24 * MIB, inAll: 64 * MIB },
  failures: { burst: 100, perSecond: 1, auditMs: 60_000 },
}

/** PEM texts that TLS needs as things stand now. */
export interface TlsMaterial {
  readonly key: string
  /** The certificate that is presented, and those above it. */
  readonly cert: string
  /** What is presented to whoever asks for `BOX_SERVER_NAME`, when that is another certificate. */
  readonly boxes?: { readonly key: string; readonly cert: string }
  /** The CA whose `svc://node/` certificates are believed. */
  readonly nodesCa: string
  /** The CA whose `svc://cli/` certificates are believed. */
  readonly operatorsCa: string
}

/** TLS on the listener. With it, plaintext on the port is closed and never served. */
export interface EdgeTls {
  readonly minVersion: 'TLSv1.2' | 'TLSv1.3'
  /** The same texts until they change: asked often. */
  material(): TlsMaterial
  /** Calls the listener after each change of what `material` gives, until the returned function is called. */
  onChange(listener: () => void): () => void
}

/** Changes the file that the configuration is read from: the one place where it is written. */
export interface SettingsFile {
  /** Where it is. */
  readonly path: string
  /** What the changes of keys would make of it; throws `validation_failed`. See `planSettings`. */
  plan(changes: Readonly<Record<string, unknown>>, found?: Readonly<Record<string, unknown>>): PlannedSettings
  /** A digest of what the file says now, by which nobody learns what that is; that of an empty one when there is none. */
  digest(): string
  /** Puts it in the file's place; throws `settings_fixed`. */
  write(planned: PlannedSettings): void
  /** Puts in force what the file says now, as SIGHUP does. */
  reload(): Promise<void>
}

export interface EdgeOptions {
  /** The environment admin token. Undefined: nobody is admin by environment. Kept as a digest only. */
  readonly adminToken: string | undefined
  /** 32 secret bytes; the key that signs cursors is derived from them. The buffer stays the caller's to zero. */
  readonly cursorSecret: Uint8Array
  /** `host:port`, `:port` or `[v6]:port`; `server.listen` of the settings when absent. */
  readonly listen?: string
  readonly tls?: EdgeTls
  /** Where plain HTTP is served too, on a loopback address; `server.plain_listen` of the settings when absent, empty: nowhere. */
  readonly plainListen?: string
  readonly limits?: Partial<EdgeLimits>
  /** The folder of the documentation that this build carries, served at `/docs`. Undefined: it carries none. */
  readonly documentation?: string
  /** Undefined: `PUT /v1/settings` is not served. */
  readonly settingsFile?: SettingsFile
  /**
   * Checks every success body against the route's response schema and answers `internal` when it does not fit.
   * For tests and development: costs time, and turns a wrong document into a failure.
   */
  readonly checkResponses?: boolean
  /** Those of another edge in this process: what it has compiled is not compiled again. Its own when absent. */
  readonly checks?: SchemaChecks
}
