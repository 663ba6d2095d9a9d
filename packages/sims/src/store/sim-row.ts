import { defineTable, type KnownRow, type KnownRows, knownRows, type Table } from '@steeple/contracts'
import type { SimText } from '../sim-text.ts'
import type { SimStanding } from '../states/change.ts'

/** What is known of a SIM in the HSS. `pending`: not pushed yet or not again. */
export type HssStatus = 'pending' | 'synced' | 'failed'

/** A SIM as stored. Times are ms since the epoch. Neither its IMSI nor its keys are in it unsealed. */
export interface SimRow extends SimStanding {
  /** The truncated SHA-256 of its IMSI. */
  readonly hash: string
  /** `999-99` */
  readonly plmn: string
  readonly profile: string
  /** JSON list. */
  readonly apns: string
  readonly downlink_bps: number
  readonly uplink_bps: number
  readonly quota_bytes: number | null
  readonly usage_bytes: number
  readonly msisdn: string | null
  readonly label: string | null
  readonly batch_id: string | null
  readonly iccid_last4: string | null
  readonly issued_at_ms: number
  readonly expires_at_ms: number
  /** When it was first seen in the core. */
  readonly attached_at_ms: number | null
  /** When it took the place of another SIM. */
  readonly swapped_at_ms: number | null
  /** The SIM whose place it took. */
  readonly replaces: string | null
  /** Grows with each change that the HSS must hear of. */
  readonly generation: number
  /** Digits of the IMSI, sealed; AAD `sims_sim/<hash>`. */
  readonly imsi_sealed: Uint8Array
  /** Ki, OPc and card codes (see secrets/card.ts), sealed; AAD `sims_sim/<hash>`. */
  readonly secrets_sealed: Uint8Array
  readonly hss_status: HssStatus
  /** The driver that was last successful. */
  readonly hss_driver: string | null
  readonly hss_error: string | null
  readonly hss_synced_at_ms: number | null
  /** SEQ with which the HSS inserts it: 1, and later than every SEQ used when it has to be inserted again. */
  readonly hss_seq: number
  /** The ICCID without its last four digits under a keyed hash (see secrets/iccid-index.ts); null without one, and before it was indexed. */
  readonly iccid_mac: Uint8Array | null
  /** A lower rate than its AMBR, in both directions; null while its AMBR holds. */
  readonly cap_bps: number | null
  /** Its rates have changed and its phone may have those of before: whether its session is ended or waited for. */
  readonly reach: 'kick' | 'wait' | null
  /**
   * What an import did not say of it (`AsIs`, with blanks between): as the HSS has it, which is looked up before the first push
   * and written into the row then; null when nothing is open.
   */
  readonly as_is: string | null
}

/** The SIMs. */
export const SIMS: Table<SimRow> = defineTable<SimRow>(
  'sims_sim',
  [
    'hash',
    'plmn',
    'profile',
    'state',
    'previous_state',
    'suspend_reason',
    'apns',
    'downlink_bps',
    'uplink_bps',
    'quota_bytes',
    'usage_bytes',
    'msisdn',
    'label',
    'batch_id',
    'iccid_last4',
    'issued_at_ms',
    'expires_at_ms',
    'attached_at_ms',
    'swapped_at_ms',
    'replaces',
    'generation',
    'imsi_sealed',
    'secrets_sealed',
    'hss_status',
    'hss_driver',
    'hss_error',
    'hss_synced_at_ms',
    'hss_seq',
    'iccid_mac',
    'cap_bps',
    'reach',
    'as_is',
  ],
  ['hash'],
)

const OCTETS = ['imsi_sealed', 'secrets_sealed', 'iccid_mac'] as const

/** A SIM as it is shown: nothing sealed is opened for that. */
export type ShownSim = Omit<SimRow, (typeof OCTETS)[number]>

/** The SIMs as they are shown; those that are shown often with their text. */
export type KnownSims = KnownRows<ShownSim, SimText>

/** One of them. */
export type KnownSim = KnownRow<ShownSim, SimText>

/** The SIMs as they are shown, none of them known yet. */
export function knownSims(): KnownSims {
  return knownRows<SimRow, (typeof OCTETS)[number], SimText>(SIMS, OCTETS)
}

/** The last list that was read: one row mostly has the APNs of the one before it. */
let last: { readonly text: string; readonly apns: readonly string[] } = { text: '[]', apns: [] }

/** The APNs of a row. */
export function apnsOf(row: Pick<SimRow, 'apns'>): readonly string[] {
  // Written from a list of texts alone.
  if (row.apns !== last.text) last = { text: row.apns, apns: JSON.parse(row.apns) as readonly string[] }
  return last.apns
}
