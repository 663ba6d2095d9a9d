import {
  type JsonSchema,
  NULLABLE_TIMESTAMP_SCHEMA,
  objectSchema,
  quotaKeeperRef,
  recordSchema,
  TIMESTAMP_SCHEMA,
  type Tx,
  timestampOrNull,
  type UsedOfQuota,
} from '@steeple/contracts'
import { type AttachState, attachStatesOf, newAttachState } from './attach/attach-state.ts'
import type { SimsParts } from './parts.ts'
import { isPhoneLeft } from './provision/cut.ts'
import { apnsOf, type SimRow, suspendReasonOf } from './store/sim-store.ts'

const NULLABLE_TEXT: JsonSchema = { type: ['string', 'null'] }
const NULLABLE_INTEGER: JsonSchema = { type: ['integer', 'null'] }

const PROPERTIES: Readonly<Record<string, JsonSchema>> = {
  imsi_sha256_12: { type: 'string' },
  profile: { type: 'string' },
  state: { type: 'string', description: 'issued, in-use, suspended, expired or revoked; more may come.' },
  apns: { type: 'array', items: { type: 'string' } },
  expires_at: TIMESTAMP_SCHEMA,
  iccid_last4: NULLABLE_TEXT,
  label: NULLABLE_TEXT,
  batch_id: NULLABLE_TEXT,
  issued_at: TIMESTAMP_SCHEMA,
  adopted_at: {
    ...NULLABLE_TIMESTAMP_SCHEMA,
    description:
      'When it was taken over from a core that had it already; null for one that was issued or imported.',
  },
  first_attach_at: NULLABLE_TIMESTAMP_SCHEMA,
  attached: {
    type: ['boolean', 'null'],
    description: 'Whether its phone is attached; null: the core does not tell.',
  },
  last_seen_at: { ...NULLABLE_TIMESTAMP_SCHEMA, description: 'When its phone was last seen attached.' },
  suspend_reason: { type: ['string', 'null'], description: 'operator, quota or policy; more may come.' },
  quota_bytes: NULLABLE_INTEGER,
  allowed_bytes: {
    ...NULLABLE_INTEGER,
    description: 'The quota with what was added for this period; null without a quota.',
  },
  usage_bytes: {
    type: 'integer',
    description: 'What it has used in the period of its quota, or without a quota in this month.',
  },
  ambr: recordSchema({ downlink_bps: { type: 'integer' }, uplink_bps: { type: 'integer' } }),
  msisdn: NULLABLE_TEXT,
  replaces: NULLABLE_TEXT,
  provisioning: recordSchema({
    status: { type: 'string', description: 'pending, synced or failed; more may come.' },
    driver: { type: 'string' },
    last_error: NULLABLE_TEXT,
    synced_at: NULLABLE_TIMESTAMP_SCHEMA,
    waits_for: {
      type: ['string', 'null'],
      description:
        'phone: it is blocked, and its session is not known to be gone; hss: the HSS does not answer; more may come.',
    },
  }),
}

export const SIM_SCHEMA: JsonSchema = recordSchema(PROPERTIES)

/** Schema of a SIM that is shown alone. */
export const SHOWN_SIM_SCHEMA: JsonSchema = recordSchema({
  ...PROPERTIES,
  in_core: {
    type: ['object', 'null'],
    additionalProperties: false,
    required: ['slices', 'fixed_addresses'],
    description:
      'Of one that was taken over: its slices (`1-0000ff`) and its fixed addresses as the core holds them. Null for others, and while the core does not tell.',
    properties: {
      slices: { type: 'array', items: { type: 'string' } },
      fixed_addresses: { type: 'array', items: { type: 'string' } },
    },
  },
})

/** Schema of a SIM record as suspend, resume and revoke answer it. */
export const MOVED_SIM_SCHEMA: JsonSchema = objectSchema(
  {
    ...PROPERTIES,
    detached: { type: 'string', description: 'yes, pending or not_attached; more may come.' },
  },
  [...Object.keys(PROPERTIES), 'detached'],
)

/** What a row has used in its period, and may use. */
export type UsedBytes = (row: SimRow) => UsedOfQuota

/** That of a new SIM, or of any where nobody keeps quotas. */
export const unused: UsedBytes = ({ usage_bytes: usedBytes, quota_bytes: limitBytes }) => ({
  usedBytes,
  limitBytes: limitBytes ?? undefined,
})

/** What these rows have used, as the keeper of quotas has it; nothing without one. */
export async function usageOf({ context }: SimsParts, rows: readonly SimRow[], tx?: Tx): Promise<UsedBytes> {
  const hashes = rows.map(({ hash }) => hash)
  const used = await context.maybe(quotaKeeperRef)?.used(hashes, tx)
  return (row) => used?.get(row.hash) ?? unused(row)
}

/**
 * SIMs as answered, with their phones and their usage: inside of `tx` as the core was last seen, otherwise the core is asked anew when
 * it was not asked a moment ago.
 */
export async function recordsOf(
  parts: SimsParts,
  rows: readonly SimRow[],
  tx?: Tx,
): Promise<readonly SimRecord[]> {
  const { context, attachedSet } = parts
  const attached = tx === undefined ? await attachedSet.fresh() : attachedSet.now()
  const attachStates = await attachStatesOf(tx ?? context.db, rows, attached)
  const used = await usageOf(parts, rows, tx)
  return rows.map((row) =>
    simRecord(parts, row, attachStates.get(row.hash) ?? newAttachState(parts), used(row)),
  )
}

/** The same of one SIM. */
export async function recordOf(parts: SimsParts, row: SimRow, tx?: Tx): Promise<SimRecord> {
  const [record = {}] = await recordsOf(parts, [row], tx)
  return record
}

type SimRecord = Readonly<Record<string, unknown>>

/** A SIM as answered: no secret, no raw IMSI. */
export function simRecord(
  parts: SimsParts,
  row: SimRow,
  attachState: AttachState,
  { usedBytes, limitBytes }: UsedOfQuota,
): SimRecord {
  return {
    imsi_sha256_12: row.hash,
    profile: row.profile,
    state: row.state,
    apns: apnsOf(row),
    expires_at: timestampOrNull(row.expires_at_ms),
    iccid_last4: row.iccid_last4,
    label: row.label,
    batch_id: row.batch_id,
    issued_at: timestampOrNull(row.issued_at_ms),
    adopted_at: row.found_sealed === null ? null : timestampOrNull(row.issued_at_ms),
    first_attach_at: timestampOrNull(row.attached_at_ms),
    attached: attachState.attached,
    last_seen_at: timestampOrNull(attachState.lastSeenAtMs),
    suspend_reason: suspendReasonOf(row),
    quota_bytes: row.quota_bytes,
    allowed_bytes: limitBytes ?? null,
    usage_bytes: usedBytes,
    ambr: { downlink_bps: row.downlink_bps, uplink_bps: row.uplink_bps },
    msisdn: row.msisdn,
    replaces: row.replaces,
    provisioning: provisioningOf(parts, row),
  }
}

/** What of a SIM people and rules change, for `changeTag`: not what is seen of its phone, nor what the HSS holds. */
export function changedPart(row: SimRow): readonly unknown[] {
  const { downlink_bps, uplink_bps } = row
  return [
    ...[row.state, row.suspend_reason, row.label, row.quota_bytes, row.expires_at_ms],
    ...[row.apns, downlink_bps, uplink_bps],
  ]
}

/** What the HSS holds of a SIM, as far as it is known. */
export function provisioningOf(
  { hss, unfixable: pushed }: SimsParts,
  row: SimRow,
): Readonly<Record<string, unknown>> {
  const { driver, problem } = hss.view()
  const isForeign = row.hss_status === 'synced' && driver !== 'none' && row.hss_driver !== driver
  const unfixable = row.hss_status === 'synced' ? pushed.reasonOf(row.hash, row.generation) : undefined
  const status = isForeign ? 'pending' : unfixable === undefined ? row.hss_status : 'failed'
  const reason = status === 'synced' ? null : (unfixable ?? row.hss_error ?? problem ?? null)
  return {
    status,
    driver,
    last_error: reason,
    synced_at: isForeign ? null : timestampOrNull(row.hss_synced_at_ms),
    waits_for: status === 'synced' ? null : isPhoneLeft(row) ? 'phone' : problem === undefined ? null : 'hss',
  }
}
