import { randomUUID } from 'node:crypto'
import { defineTable, type Reader, type Table, type Tx } from '@steeple/contracts'
import type { EsimParts } from '../parts.ts'
import { REFUSALS, type RefusalName } from '../rsp/refusal.ts'
import { CODES, type CodeRow } from './rows.ts'

/** An order by ES2+ behind a code: whose it is. Times in ms since the epoch. */
interface OrderRow {
  /** Of the code, which holds the state. */
  readonly token: string
  /** SHA-256 (hex) of the subject of the certificate that ordered: only the same one may go on with it. */
  readonly owner: string
  readonly profile_type: string
  readonly created_at_ms: number
}
export const ORDERS: Table<OrderRow> = defineTable(
  'esim_smdp_order',
  ['token', 'owner', 'profile_type', 'created_at_ms'],
  ['token'],
)

/** A call of ES2+ that was executed, so that it is not executed again. */
interface CallRow {
  /** HMAC (hex) of who called, the call identifier, the function and the message, under the key of `esim_smdp_key`. */
  readonly id: string
  /** The members of its answer, JSON; AAD `esim_smdp_call/<id>`. */
  readonly answer_sealed: Uint8Array
  readonly at_ms: number
}
export const CALLS: Table<CallRow> = defineTable('esim_smdp_call', ['id', 'answer_sealed', 'at_ms'], ['id'])

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
export const PROGRESS: Table<ProgressRow> = defineTable(
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

const COUNT = 'select count(*) as n from esim_smdp_order where owner = :owner and created_at_ms > :since'
const OLD_CALLS = `delete from esim_smdp_call where id in
  (select id from esim_smdp_call where at_ms < :before order by at_ms limit :most)`
const OLD_PROGRESS = `delete from esim_smdp_progress where id in
  (select id from esim_smdp_progress where at_ms < :before order by at_ms limit :most)`
const COUNT_PROGRESS = 'select count(*) as n from esim_smdp_progress'
const SURPLUS = `delete from esim_smdp_progress where id in
  (select id from esim_smdp_progress order by at_ms limit :most)`

/** A code and the order behind it; `order` is undefined for a code of the API. */
export interface Ordered {
  readonly code: CodeRow
  readonly order: OrderRow | undefined
}

/** The newest code of an ICCID, by its HMAC, that is not revoked. */
export async function orderedOf(reader: Reader, iccidMac: Uint8Array): Promise<Ordered | undefined> {
  const [code] = await CODES.select(
    reader,
    "where iccid_mac = :mac and state <> 'revoked' order by created_at_ms desc, token limit 1",
    { mac: iccidMac },
  )
  if (code === undefined) return undefined
  return { code, order: await ORDERS.find(reader, { token: code.token }) }
}

/** How many orders somebody has given since a moment. */
export async function ordersSince(reader: Reader, owner: string, since: number): Promise<number> {
  return Number((await reader.get<{ readonly n: number }>(COUNT, { owner, since }))?.n ?? 0)
}

/** The call that was executed under that id. */
export async function callOf(reader: Reader, id: string): Promise<CallRow | undefined> {
  return await CALLS.find(reader, { id })
}

/** At most `limit` entries of the queue that are due, the longest waiting first. */
export async function progressDue(
  reader: Reader,
  nowMs: number,
  limit: number,
): Promise<readonly ProgressRow[]> {
  const rest = 'where next_at_ms <= :now order by next_at_ms, id limit :limit'
  return (await PROGRESS.sound(reader, rest, { now: nowMs, limit })).rows
}

export async function progressWaiting(reader: Reader): Promise<number> {
  return Number((await reader.get<{ readonly n: number }>(COUNT_PROGRESS))?.n ?? 0)
}

/** Forgets at most `most` calls from before a moment. */
export async function pruneCalls(tx: Tx, before: number, most: number): Promise<void> {
  await tx.run(OLD_CALLS, { before, most })
}

/** Gives up entries from before a moment, and the oldest ones beyond `room`; at most `most`. Says how many. */
export async function pruneProgress(
  tx: Tx,
  { before, room, most }: { readonly before: number; readonly room: number; readonly most: number },
): Promise<number> {
  const old = await tx.run(OLD_PROGRESS, { before, most })
  const surplus = (await progressWaiting(tx)) - room
  return old + (surplus > 0 ? await tx.run(SURPLUS, { most: Math.min(most, surplus) }) : 0)
}

/** Steps of a download that an order system is told of. SGP.22 §5.3.5. */
const POINTS = { eligibility: 1, confirmation: 2, download: 3, installation: 4 } as const

export interface Step {
  readonly token: string
  /** SHA-256 (hex) of the EID, when it is known. */
  readonly eidHash: string | null
  readonly point: keyof typeof POINTS
  /** Absent: it went well. */
  readonly failure?: RefusalName | { readonly message: string }
  /** PendingNotification (DER) of an installation. */
  readonly result?: Uint8Array
}

/**
 * Notes a step in the transaction in which it happens, so that it is told however the process ends; nothing for codes that
 * nobody has ordered by ES2+, nor while `esim.es2.notify_url` is empty.
 */
export async function noteStep(
  { context, vault }: Pick<EsimParts, 'context' | 'vault'>,
  tx: Tx,
  step: Step,
): Promise<void> {
  if (context.config.es2.notify_url === '') return
  if ((await ORDERS.find(tx, { token: step.token })) === undefined) return
  const { failure } = step
  const codes = typeof failure === 'string' ? REFUSALS[failure] : undefined
  const message = codes?.[2] ?? (typeof failure === 'object' ? failure.message : null)
  const nowMs = Math.floor(context.clock.nowMs())
  const id = randomUUID()
  await PROGRESS.insert(tx, {
    id,
    token: step.token,
    eid_hash: step.eidHash,
    point: POINTS[step.point],
    is_ok: failure === undefined ? 1 : 0,
    subject_code: codes?.[0] ?? null,
    reason_code: codes?.[1] ?? null,
    message,
    result_sealed: step.result === undefined ? null : vault.seal(step.result, `esim_smdp_progress/${id}`),
    at_ms: nowMs,
    failures: 0,
    next_at_ms: nowMs,
  })
}
