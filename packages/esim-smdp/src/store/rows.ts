import { defineTable, type Table } from '@steeple/contracts'

/**
 * States of a profile that can be downloaded. SGP.22 §3.1.6; `revoked` and `expired` are this service's own ends.
 * `allocated` and `confirmed` are orders by ES2+ that are not released yet.
 */
export const CODE_STATES = [
  'allocated',
  'confirmed',
  'released',
  'downloaded',
  'installed',
  'error',
  'revoked',
  'expired',
] as const
export type CodeState = (typeof CODE_STATES)[number]

/** One activation code and the profile behind it. Times in ms since the epoch. */
export interface CodeRow {
  /** The code's own id, in the API; not the matching id. */
  readonly token: string
  /** The SIM's hash. */
  readonly hash: string
  readonly state: CodeState
  /** HMAC of the matching id under the key of `esim_smdp_key`: how it is found. */
  readonly matching_mac: Uint8Array
  /** AAD `esim_smdp_code/<token>`. */
  readonly matching_sealed: Uint8Array
  /** SHA-256 of the confirmation code, sealed with the same AAD; null: none is asked for. */
  readonly confirmation_sealed: Uint8Array | null
  /** HMAC of the ICCID's digits under the same key. */
  readonly iccid_mac: Uint8Array
  readonly iccid_last4: string
  /** The eUICC that it belongs to (`euiccId`); null: whoever comes first. */
  readonly eid_hash: string | null
  readonly eid_last4: string | null
  readonly smdp_address: string
  readonly single_use: number
  /** Attempts to download, SGP.22 §3.1.3. */
  readonly attempts: number
  /** Wrong confirmation codes. */
  readonly confirmation_attempts: number
  /** Bound profile packages that were delivered. */
  readonly downloads: number
  readonly last_error: string | null
  readonly batch_id: string | null
  readonly created_at_ms: number
  readonly expires_at_ms: number
  readonly changed_at_ms: number
}
export const CODES: Table<CodeRow> = defineTable(
  'esim_smdp_code',
  [
    'token',
    'hash',
    'state',
    'matching_mac',
    'matching_sealed',
    'confirmation_sealed',
    'iccid_mac',
    'iccid_last4',
    'eid_hash',
    'eid_last4',
    'smdp_address',
    'single_use',
    'attempts',
    'confirmation_attempts',
    'downloads',
    'last_error',
    'batch_id',
    'created_at_ms',
    'expires_at_ms',
    'changed_at_ms',
  ],
  ['token'],
)

/**
 * `initiated`: nothing of it is kept, see `beginningsBy`; rows with it are of an earlier version. `delivered`: kept for the notification of
 * the installation, which may come days later.
 */
export type SessionStep = 'initiated' | 'authenticated' | 'delivered' | 'ended'

/** One RSP session. SGP.22 §3.1. */
export interface SessionRow {
  /** Transaction id, 32 upper-case hexadecimal characters. */
  readonly tid: string
  readonly step: SessionStep
  /** Subject key identifier of the CI in use, hexadecimal. */
  readonly ci_pkid: string
  /** Empty; earlier versions kept the network of the first call. */
  readonly peer: string
  /** Version of SGP.22 that the eUICC said in its first call. */
  readonly svn: Uint8Array
  /** The set of certificates that it began with: `RspIdentity.id`. */
  readonly identity: string
  readonly euicc_challenge: Uint8Array
  readonly server_challenge: Uint8Array
  readonly token: string | null
  readonly eid_hash: string | null
  /** The 32 digits; AAD `esim_smdp_session/<tid>`. */
  readonly eid_sealed: Uint8Array | null
  /** SubjectPublicKeyInfo (DER) of CERT.EUICC. */
  readonly euicc_key: Uint8Array | null
  /** The whole `5F37` object. */
  readonly signature2: Uint8Array | null
  readonly created_at_ms: number
  readonly expires_at_ms: number
}
export const SESSIONS: Table<SessionRow> = defineTable(
  'esim_smdp_session',
  [
    'tid',
    'step',
    'ci_pkid',
    'peer',
    'svn',
    'identity',
    'euicc_challenge',
    'server_challenge',
    'token',
    'eid_hash',
    'eid_sealed',
    'euicc_key',
    'signature2',
    'created_at_ms',
    'expires_at_ms',
  ],
  ['tid'],
)

/** One eUICC that has been here. */
export interface EuiccRow {
  /** `euiccId`; so everywhere. */
  readonly eid_hash: string
  /** The 32 digits; AAD `esim_smdp_euicc/<eid_hash>`. */
  readonly eid_sealed: Uint8Array
  readonly eid_last4: string
  /** Failed attempts since `failures_from_ms`. */
  readonly failures: number
  readonly failures_from_ms: number
  readonly locked_until_ms: number | null
  readonly first_seen_ms: number
  readonly last_seen_ms: number
  /** Who answers for its EID; null in rows of earlier versions. */
  readonly authority: string | null
  /** Version of profile packages that it takes, such as 2.3; null when it has not said. */
  readonly profile_version: string | null
}
export const EUICCS: Table<EuiccRow> = defineTable(
  'esim_smdp_euicc',
  [
    'eid_hash',
    'eid_sealed',
    'eid_last4',
    'failures',
    'failures_from_ms',
    'locked_until_ms',
    'first_seen_ms',
    'last_seen_ms',
    'authority',
    'profile_version',
  ],
  ['eid_hash'],
)

/** A profile on an eUICC: what became of it there. */
export interface HeldRow {
  readonly eid_hash: string
  readonly token: string
  readonly hash: string
  readonly state: 'delivered' | 'installed' | 'enabled' | 'disabled' | 'deleted' | 'failed'
  /** Number of the notification that said so, -1 when none did: earlier ones that come later change no state. */
  readonly seq: number
  readonly delivered_at_ms: number | null
  readonly installed_at_ms: number | null
  readonly enabled_at_ms: number | null
  readonly disabled_at_ms: number | null
  readonly deleted_at_ms: number | null
}
export const HELD: Table<HeldRow> = defineTable(
  'esim_smdp_held',
  [
    'eid_hash',
    'token',
    'hash',
    'state',
    'seq',
    'delivered_at_ms',
    'installed_at_ms',
    'enabled_at_ms',
    'disabled_at_ms',
    'deleted_at_ms',
  ],
  ['eid_hash', 'token'],
)

/** A notification that was verified. One number of one eUICC counts once. */
export interface NoticeRow {
  readonly eid_hash: string
  readonly seq: number
  readonly event: 'install' | 'enable' | 'disable' | 'delete'
  readonly token: string | null
  /** In words, for an installation that failed. */
  readonly detail: string | null
  readonly received_at_ms: number
}
export const NOTICES: Table<NoticeRow> = defineTable(
  'esim_smdp_notice',
  ['eid_hash', 'seq', 'event', 'token', 'detail', 'received_at_ms'],
  ['eid_hash', 'seq'],
)

/** A certificate, with its private key where this service has it. */
export interface CertRow {
  /** SHA-256 of the DER, hexadecimal. */
  readonly id: string
  readonly role: 'ci' | 'dpauth' | 'dppb' | 'dptls' | 'eum'
  /** Subject key identifier of the CI above it, hexadecimal. */
  readonly ci_pkid: string
  readonly curve: 'P-256' | 'brainpoolP256r1'
  /** Registered id of the subject alternative name, dotted; empty when it has none. */
  readonly owner: string
  readonly der: Uint8Array
  /** PKCS #8; AAD `esim_smdp_cert/<id>`. */
  readonly key_sealed: Uint8Array | null
  readonly not_before_ms: number
  readonly not_after_ms: number
  readonly added_at_ms: number
}
export const CERTS: Table<CertRow> = defineTable(
  'esim_smdp_cert',
  [
    'id',
    'role',
    'ci_pkid',
    'curve',
    'owner',
    'der',
    'key_sealed',
    'not_before_ms',
    'not_after_ms',
    'added_at_ms',
  ],
  ['id'],
)

/** Keys that this plugin has drawn for itself. */
export interface KeyRow {
  readonly id: string
  /** AAD `esim_smdp_key/<id>`. */
  readonly key_sealed: Uint8Array
}
export const KEYS: Table<KeyRow> = defineTable('esim_smdp_key', ['id', 'key_sealed'], ['id'])

/** A certificate that was removed by hand: `esim.certs_dir` does not bring it back. */
export interface DroppedRow {
  /** As of `CertRow`. */
  readonly id: string
  readonly at_ms: number
}
export const DROPPED: Table<DroppedRow> = defineTable('esim_smdp_dropped', ['id', 'at_ms'], ['id'])

/** A certificate that is not believed any more, whoever shows it. */
export interface RevokedRow {
  /** Key identifier of its issuer and its serial number, hexadecimal, a space between. */
  readonly id: string
  /** A revocation list, or somebody here. */
  readonly source: 'list' | 'hand'
  readonly at_ms: number
}
export const REVOKED: Table<RevokedRow> = defineTable('esim_smdp_revoked', ['id', 'source', 'at_ms'], ['id'])
