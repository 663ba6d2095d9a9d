import type { AlertRule } from '@steeple/contracts'
import type { Severity } from './rules/rule.ts'

/** A rule of `alerts.rules`. */
interface RuleConfig extends AlertRule {
  /** The value that ends it; the threshold when absent. */
  readonly clear?: number
  /** How long it is well before it is over; as `for` when absent. */
  readonly clear_for?: string
}

/** A receiver of `alerts.webhooks`. */
export interface WebhookConfig {
  readonly url: string
  readonly secret_file: string
  readonly events?: readonly string[]
  /** The host of the URL when absent. */
  readonly name?: string
  /** `info` when absent. */
  readonly min_severity?: Severity
  readonly allow_private?: boolean
  readonly ca_file?: string
  readonly authorization_file?: string
}

/** `alerts.*` of the configuration. */
export interface AlertsConfig {
  readonly enabled: boolean
  readonly rules: readonly RuleConfig[]
  readonly webhooks: readonly WebhookConfig[]
  readonly disabled_rules: readonly string[]
  readonly interval: string
  readonly retention: string
}
