import type { ErrorCode } from '@steeple/contracts'
import type { EdgeKernel } from './edge-kernel.ts'
import type { EdgeLimits, SettingsFile } from './edge-options.ts'
import type { RouteMemory } from './host/endpoint.ts'
import type { HttpMetrics } from './observe/http-metrics.ts'
import type { Authenticate, Denials } from './pipeline/authenticate.ts'
import type { BodySpace } from './pipeline/body-space.ts'
import type { Cursors } from './pipeline/cursor.ts'
import type { FailedCredentials } from './pipeline/failed-credentials.ts'
import type { SchemaChecks } from './pipeline/schema-checks.ts'
import type { SenderOf, Shares } from './pipeline/shares.ts'
import type { ClientCertificates } from './tls/client-certificates.ts'

/** What every request needs of the edge: made once, shared by all parts of the pipeline. */
export interface EdgeCore {
  readonly kernel: EdgeKernel
  readonly limits: EdgeLimits
  readonly settingsFile: SettingsFile | undefined
  readonly metrics: HttpMetrics
  readonly checks: SchemaChecks
  /** Success bodies are held to the schemas of their routes. */
  readonly checkResponses: boolean
  readonly cursors: Cursors
  readonly denials: Denials
  /** Who may begin how much. */
  readonly shares: Shares
  readonly bodies: BodySpace
  readonly failures: FailedCredentials
  /** Open event streams by principal. */
  readonly streams: Map<string, number>
  readonly authenticate: Authenticate
  /** From where a request comes, past the proxies that are trusted. */
  readonly senderOf: SenderOf
  readonly certificates: ClientCertificates
  /** Error codes that the plugins which serve now bring. */
  errors(): readonly ErrorCode[]
  /** Idempotent requests that are running on this instance: scope to body hash. */
  readonly running: Map<string, string>
  /** Which routes there were. */
  readonly memory: RouteMemory
  /** Aborts when the listener goes down: answers close their connection from then on. */
  readonly shutdown: AbortSignal
}
