import { configInvalid } from '@steeple/contracts'
import type { WebhookConfig } from '../config.ts'

/** The kinds of messages. */
export type MessageType = 'alert.firing' | 'alert.resolved' | 'alert.acked' | 'alert.test'

/** A receiver of webhooks. */
export interface Target {
  /** As the configuration calls it, or its host: unique. */
  readonly name: string
  readonly url: URL
  readonly secretFile: string
  readonly allowPrivate: boolean
  readonly caFile: string | undefined
  readonly authorizationFile: string | undefined
  /** Whether it wants messages of this type. */
  wants(type: MessageType): boolean
}

/** What a receiver gets that does not say what it wants. */
const USUAL: readonly string[] = ['alert.firing', 'alert.resolved']

/** The receivers of the configuration. Throws `config_invalid` when two have the same name. */
export function targetsOf(webhooks: readonly WebhookConfig[]): readonly Target[] {
  const targets = webhooks.map(targetOf)
  const names = targets.map(({ name }) => name)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice === undefined) return targets
  throw configInvalid(`alerts.webhooks: two are called ${twice}; give each a name of its own (name: …)`)
}

function targetOf(webhook: WebhookConfig): Target {
  const url = new URL(webhook.url)
  const events = webhook.events === undefined || webhook.events.length === 0 ? USUAL : webhook.events
  return {
    name: webhook.name ?? url.hostname,
    url,
    secretFile: webhook.secret_file,
    allowPrivate: webhook.allow_private === true,
    caFile: webhook.ca_file,
    authorizationFile: webhook.authorization_file,
    wants: (type) => type === 'alert.test' || events.includes(type),
  }
}
