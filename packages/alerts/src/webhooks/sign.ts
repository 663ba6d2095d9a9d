import { createRequire } from 'node:module'
import type { Webhook } from 'standardwebhooks'

/** What is sent again as it is. */
export interface Message {
  readonly id: string
  readonly body: string
}

/**
 * The headers of Standard Webhooks: the id is the message's, the time and with it the signature are the attempt's. One
 * signature for each secret, so that a receiver can change its own.
 */
export function signedHeaders(
  { id, body }: Message,
  secrets: readonly string[],
  nowMs: number,
): Readonly<Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string>> {
  // Most boxes send no webhook, and a start loads nothing for it.
  const required = createRequire(import.meta.url)('standardwebhooks') as { readonly Webhook: typeof Webhook }
  const at = new Date(nowMs)
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(nowMs / 1_000)),
    'webhook-signature': secrets.map((secret) => new required.Webhook(secret).sign(id, at, body)).join(' '),
  }
}
