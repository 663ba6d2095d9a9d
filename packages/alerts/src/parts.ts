import type { Context, Reader } from '@steeple/contracts'
import type { AlertsConfig } from './config.ts'
import type { AlertMetrics } from './metrics.ts'
import type { Watch } from './rules/rule.ts'
import type { Resolve } from './webhooks/post.ts'
import type { Target } from './webhooks/target.ts'

/** What the routes, the engine and the reconciler of this plugin share. */
export interface AlertParts {
  readonly context: Context<AlertsConfig>
  readonly metrics: AlertMetrics
  /** The receivers of now; inside a transaction by its reader. */
  targets(reader?: Reader): Promise<readonly Target[]>
  readonly watches: readonly Watch[]
  /** All rules that there are now. */
  names(): ReadonlySet<string>
  /** Why a message that needs no store could not be sent, by the name of its receiver. */
  readonly unsent: Map<string, string>
  /** How names of receivers become addresses; as the system does when absent. */
  readonly resolve?: Resolve
}

/** Reconciler that delivers messages; its keys are names of receivers. */
export const WEBHOOK_RESOURCE = 'alert_webhook'
