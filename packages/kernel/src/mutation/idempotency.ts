import { hash } from 'node:crypto'
import {
  idempotencyInProgress,
  type Principal,
  type Reader,
  type Reply,
  rowSum,
  type SqlParams,
  storeCorrupt,
  type Tx,
  type Vault,
} from '@steeple/contracts'
import type { Database } from '../store/database.ts'
import type { IdempotencyClaim, StoredReply } from './mutations.ts'

interface IdempotencyRow {
  readonly scope: string
  readonly body_sha256: string
  readonly at_ms: number
  readonly reply: string | null
  readonly sealed_reply: Uint8Array | null
  readonly row_sum: number
}

/** The sealed column is not summed: the vault authenticates it, and a rotation of its key rewrites it. */
const SUMMED: readonly string[] = ['scope', 'body_sha256', 'at_ms', 'reply']
const TABLE = 'kernel_idempotency'
/** Contract section 2. */
const KEPT_MS = 24 * 3_600_000
/** Rows removed in one transaction. */
const REMOVED_AT_ONCE = 1_000

const FIND = `select scope, body_sha256, at_ms, reply, sealed_reply, row_sum from ${TABLE} where scope = :scope`
const PUT = `insert into ${TABLE} (scope, body_sha256, at_ms, reply, sealed_reply, row_sum)
  values (:scope, :body_sha256, :at_ms, :reply, :sealed_reply, :row_sum)
  on conflict (scope) do update set body_sha256 = excluded.body_sha256, at_ms = excluded.at_ms, reply = excluded.reply,
  sealed_reply = excluded.sealed_reply, row_sum = excluded.row_sum`
const PUT_UNLESS_LIVE = `${PUT} where ${TABLE}.at_ms <= :expired`
const REMOVE = `delete from ${TABLE} where scope in (select scope from ${TABLE} where at_ms <= :expired limit :limit)`

/**
 * The scope of an Idempotency-Key: SHA-256 (hex) over principal, method, path and key. Another principal never
 * reaches the row, whatever key it sends.
 */
export function idempotencyScope(
  principal: Pick<Principal, 'kind' | 'id'>,
  method: string,
  path: string,
  key: string,
): string {
  return hash('sha256', JSON.stringify([principal.kind, principal.id, method, path, key]))
}

/** The kept first results. */
export interface IdempotencyStore {
  stored(reader: Reader, scope: string, nowMs: number): Promise<StoredReply | undefined>
  /** Throws `idempotency_in_progress` when a live row of another request is there. */
  claim(tx: Tx, claim: IdempotencyClaim, reply: Reply, nowMs: number): Promise<void>
  /** Writes the result, over one that is there. */
  put(tx: Tx, claim: IdempotencyClaim, reply: Reply, nowMs: number): Promise<void>
}

/** The store of results; those marked `sealed` are encrypted under the vault key. */
export function createIdempotencyStore(vault: Vault): IdempotencyStore {
  vault.register({ table: TABLE, key: 'scope', columns: ['sealed_reply'] })

  const rowOf = (claim: IdempotencyClaim, reply: Reply, nowMs: number): SqlParams => {
    const text = encodeReply(reply)
    const isSealed = reply.sealed === true
    const row = {
      scope: claim.scope,
      body_sha256: claim.bodySha256,
      at_ms: nowMs,
      reply: isSealed ? null : text,
      sealed_reply: isSealed ? vault.seal(Buffer.from(text), rowId(claim.scope)) : null,
    }
    return { ...row, row_sum: rowSum(SUMMED, row) }
  }

  return {
    stored: async (reader, scope, nowMs) => {
      const row = await reader.get<IdempotencyRow>(FIND, { scope })
      if (row === undefined || row.at_ms <= nowMs - KEPT_MS) return undefined
      if (rowSum(SUMMED, { ...row }) !== row.row_sum) throw storeCorrupt(TABLE)
      return {
        bodySha256: row.body_sha256,
        reply: decodeReply(textOf(row, vault), row.sealed_reply !== null),
      }
    },
    claim: async (tx, claim, reply, nowMs) => {
      const changed = await tx.run(PUT_UNLESS_LIVE, {
        ...rowOf(claim, reply, nowMs),
        expired: nowMs - KEPT_MS,
      })
      if (changed === 0) throw idempotencyInProgress()
    },
    put: async (tx, claim, reply, nowMs) => {
      await tx.run(PUT, rowOf(claim, reply, nowMs))
    },
  }
}

function rowId(scope: string): string {
  return `${TABLE}/${scope}`
}

function textOf(row: IdempotencyRow, vault: Vault): string {
  if (row.sealed_reply === null) return row.reply ?? ''
  return Buffer.from(vault.open(row.sealed_reply, rowId(row.scope))).toString()
}

interface KeptReply {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
  readonly base64?: string
}

/** Whether a reply can be kept: a server error says nothing about the request, a stream is gone once read. */
export function isKeepable(reply: Reply): boolean {
  return (reply.status ?? 200) < 500 && reply.stream === undefined
}

function encodeReply({ status, headers, body }: Reply): string {
  const isBytes = body instanceof Uint8Array
  return JSON.stringify({
    status,
    headers,
    ...(isBytes ? { base64: Buffer.from(body).toString('base64') } : { body }),
  })
}

function decodeReply(text: string, sealed: boolean): Reply {
  // The row sum or the vault has vouched for the text that `encodeReply` made.
  const { base64, ...kept } = JSON.parse(text) as KeptReply
  const reply: Reply = base64 === undefined ? kept : { ...kept, body: Buffer.from(base64, 'base64') }
  return sealed ? { ...reply, sealed } : reply
}

/** Removes results that are older than a day. */
export async function sweepIdempotency(db: Database, nowMs: number): Promise<void> {
  const expired = nowMs - KEPT_MS
  let removed = REMOVED_AT_ONCE
  while (removed === REMOVED_AT_ONCE)
    removed = await db.transact((tx) => tx.run(REMOVE, { expired, limit: REMOVED_AT_ONCE }))
}
