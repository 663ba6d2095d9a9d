import {
  type JsonSchema,
  NULLABLE_TIMESTAMP_SCHEMA,
  recordSchema,
  TIMESTAMP_SCHEMA,
  timestampFromMs,
  timestampOrNull,
} from '@steeple/contracts'
import { OPEN_STATES } from '../store/code-queries.ts'
import type { ProvidedRow } from '../store/provider-store.ts'
import type { CodeRow, HeldRow } from '../store/rows.ts'

const NULLABLE_TEXT: JsonSchema = { type: ['string', 'null'] }

const PROFILE: JsonSchema = {
  ...recordSchema({
    state: {
      type: 'string',
      description: 'delivered, installed, enabled, disabled, deleted or failed; more may come.',
    },
    eid_last4: { type: 'string' },
    installed_at: NULLABLE_TIMESTAMP_SCHEMA,
    deleted_at: NULLABLE_TIMESTAMP_SCHEMA,
  }),
  type: ['object', 'null'],
  description: 'Where its profile is, as far as the eUICC has told; null: nowhere.',
}

const PROPERTIES: Readonly<Record<string, JsonSchema>> = {
  token: { type: 'string', description: "The code's own id. It is no secret." },
  imsi_sha256_12: { type: 'string' },
  label: { ...NULLABLE_TEXT, description: 'What its SIM is called.' },
  state: {
    type: 'string',
    description: 'released, downloaded, installed, error, revoked or expired; more may come.',
  },
  created_at: TIMESTAMP_SCHEMA,
  expires_at: TIMESTAMP_SCHEMA,
  downloads: { type: 'integer', description: 'How often the profile was delivered.' },
  attempts: { type: 'integer', description: 'How often a phone has asked for it.' },
  confirmation_attempts: { type: 'integer', description: 'How often with a wrong confirmation code.' },
  eid_last4: { ...NULLABLE_TEXT, description: 'End of the EID of the only eUICC that gets it.' },
  iccid_last4: { type: 'string' },
  confirmation_required: { type: 'boolean' },
  single_use: { type: 'boolean' },
  closed: {
    type: 'boolean',
    description: 'By a restore: nobody gets the profile by it until it is reopened.',
  },
  batch_id: NULLABLE_TEXT,
  last_error: NULLABLE_TEXT,
  profile: PROFILE,
  provider: {
    ...NULLABLE_TEXT,
    description: 'The id of the provider that delivers it; null: this SM-DP+ does.',
  },
  provider_cancel: {
    ...NULLABLE_TEXT,
    description:
      'Whether the provider knows that it is revoked: due, done, refused, or by_hand (tell it yourself); null: nothing to tell.',
  },
}

export const CODE_SCHEMA: JsonSchema = recordSchema(PROPERTIES)

/** A code as answered: neither its matching id nor its confirmation code. `held`: where its profile is. */
export function codeRecord(
  row: CodeRow,
  held: HeldRow | undefined,
  {
    closed,
    provided,
    labels,
  }: {
    readonly closed: ReadonlySet<string>
    readonly provided: ProvidedRow | undefined
    readonly labels: ReadonlyMap<string, string>
  },
): Readonly<Record<string, unknown>> {
  return {
    token: row.token,
    imsi_sha256_12: row.hash,
    label: labels.get(row.hash) ?? null,
    state: row.state,
    created_at: timestampFromMs(row.created_at_ms),
    expires_at: timestampFromMs(row.expires_at_ms),
    downloads: row.downloads,
    attempts: row.attempts,
    confirmation_attempts: row.confirmation_attempts,
    eid_last4: row.eid_last4,
    iccid_last4: row.iccid_last4,
    confirmation_required: row.confirmation_sealed !== null,
    single_use: row.single_use === 1,
    closed: OPEN_STATES.includes(row.state) && closed.has(row.token),
    batch_id: row.batch_id,
    last_error: row.last_error,
    provider: provided?.provider ?? null,
    provider_cancel: provided === undefined || provided.cancel === 'none' ? null : provided.cancel,
    profile:
      held === undefined
        ? null
        : {
            state: held.state,
            eid_last4: row.eid_last4 ?? '',
            installed_at: timestampOrNull(held.installed_at_ms),
            deleted_at: timestampOrNull(held.deleted_at_ms),
          },
  }
}
