import {
  INCIDENT_TITLES,
  type JsonSchema,
  NULLABLE_TIMESTAMP_SCHEMA,
  recordSchema,
  TIMESTAMP_SCHEMA,
  timestampFromMs,
  timestampOrNull,
} from '@steeple/contracts'
import type { AlertRow } from './store/alert-store.ts'

const TEXT: JsonSchema = { type: 'string' }

/** An alert as routes and webhooks show it. Contract section 10. */
export const ALERT_SCHEMA: JsonSchema = recordSchema({
  id: TEXT,
  rule: { ...TEXT, description: 'A built-in rule or one of alerts.rules.' },
  severity: { ...TEXT, description: 'info, warning or critical; more may come.' },
  state: { ...TEXT, description: 'pending, firing or resolved; more may come.' },
  subject: { ...TEXT, description: 'What it is about; * stands for all others of the rule.' },
  label: {
    type: ['string', 'null'],
    description: 'Of the SIM that it is about. Null for others, and in messages to receivers.',
  },
  message: TEXT,
  value: { type: ['number', 'null'] },
  threshold: { type: ['number', 'null'] },
  started_at: { ...TIMESTAMP_SCHEMA, description: 'When it began to be bad.' },
  firing_at: { ...NULLABLE_TIMESTAMP_SCHEMA, description: 'When it had been bad for long enough.' },
  resolved_at: NULLABLE_TIMESTAMP_SCHEMA,
  told: { type: 'boolean', description: 'Whether a receiver was notified that it fires.' },
  acked_by: { type: ['string', 'null'] },
  acked_at: NULLABLE_TIMESTAMP_SCHEMA,
  silenced_until: { ...NULLABLE_TIMESTAMP_SCHEMA, description: 'Until when receivers are not told of it.' },
})

/** The record of an alert; `silencedUntilMs` while nobody is told of it. A label may name a person: no receiver is sent it. */
export function alertRecord(row: AlertRow, silencedUntilMs: number | undefined, label?: string): object {
  return {
    id: row.id,
    rule: row.rule,
    severity: row.severity,
    state: row.state,
    subject: row.subject,
    label: label ?? null,
    message: row.message,
    value: row.value,
    threshold: row.threshold,
    started_at: timestampFromMs(row.started_at_ms),
    firing_at: timestampOrNull(row.fired_at_ms),
    resolved_at: timestampOrNull(row.resolved_at_ms),
    told: row.is_told === 1,
    acked_by: row.acked_by,
    acked_at: timestampOrNull(row.acked_at_ms),
    silenced_until: timestampOrNull(silencedUntilMs ?? null),
  }
}

/** The outage that a message begins with, as people know it: `No core, 14 phones are off: down: mme`. */
export function outageIn(message: string): string | undefined {
  return Object.values(INCIDENT_TITLES).find(
    (title) => /^[,:]/.test(message.slice(title.length)) && message.startsWith(title),
  )
}
