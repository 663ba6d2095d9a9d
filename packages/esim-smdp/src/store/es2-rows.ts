import { defineTable, type Table } from '@steeple/contracts'

/** An order by ES2+ behind a code: whose it is. Times in ms since the epoch. */
export interface OrderRow {
  /** Of the code, which holds the state. */
  readonly token: string
  /** SHA-256 (hex) of the subject of the certificate that ordered: only the same one may go on with it. */
  readonly owner: string
  readonly profile_type: string
  readonly created_at_ms: number
}
export const ORDERS: Table<OrderRow> = defineTable<OrderRow>(
  'esim_smdp_order',
  ['token', 'owner', 'profile_type', 'created_at_ms'],
  ['token'],
)

/** A call of ES2+ that was executed, so that it is not executed again. */
export interface CallRow {
  /** HMAC (hex) of who called, the call identifier, the function and the message, under the key of `esim_smdp_key`. */
  readonly id: string
  /** The members of its answer, JSON; AAD `esim_smdp_call/<id>`. */
  readonly answer_sealed: Uint8Array
  readonly at_ms: number
}
export const CALLS: Table<CallRow> = defineTable<CallRow>(
  'esim_smdp_call',
  ['id', 'answer_sealed', 'at_ms'],
  ['id'],
)

/** What is still to be told to the order system of a download. SGP.22 §5.3.5. */
export interface ProgressRow {
  /** Random; the identifier of each call that tells it. */
  readonly id: string
  readonly token: string
  readonly eid_hash: string | null
  /** 1 eligibility and retry limit, 2 confirmation failure, 3 download, 4 installation. */
  readonly point: number
  readonly is_ok: number
  /** Codes of SGP.22 where it failed by one. */
  readonly subject_code: string | null
  readonly reason_code: string | null
  readonly message: string | null
  /** What the eUICC has signed of an installation; AAD `esim_smdp_progress/<id>`. */
  readonly result_sealed: Uint8Array | null
  readonly at_ms: number
  /** Times that it was tried in vain. */
  readonly failures: number
  readonly next_at_ms: number
}
/** The queue of it. */
export const PROGRESS: Table<ProgressRow> = defineTable<ProgressRow>(
  'esim_smdp_progress',
  [
    'id',
    'token',
    'eid_hash',
    'point',
    'is_ok',
    'subject_code',
    'reason_code',
    'message',
    'result_sealed',
    'at_ms',
    'failures',
    'next_at_ms',
  ],
  ['id'],
)
