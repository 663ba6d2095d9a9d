import { crc32 } from 'node:zlib'
import {
  hasValidSum,
  idempotencyInProgress,
  type Reader,
  type Reply,
  rowSum,
  type SqlParams,
  storeCorrupt,
  type TableSpec,
  type Tx,
  type Vault,
} from '@steeple/contracts'
import type { Database } from '@steeple/store'
import { agoMs, type WindowClock } from '../clock/deadline.ts'
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
export const IDEMPOTENCY: TableSpec = { name: TABLE, columns: SUMMED, key: ['scope'] }
/** In the place of a digest: what the key did was undone by a restore. */
const UNDONE = 'undone'
/** Contract section 2. */
const KEPT_MS = 24 * 3_600_000
/** Rows removed in one transaction. */
const REMOVED_AT_ONCE = 1_000

const FIND = `select scope, body_sha256, at_ms, reply, sealed_reply, row_sum from ${TABLE} where scope = :scope`
/** Without the index of the scopes: an expression has none. */
const FIND_OTHERWISE = FIND.replace('where scope', "where scope_number = :number and scope || ''")
const PUT = `insert into ${TABLE} (scope, scope_number, body_sha256, at_ms, reply, sealed_reply, row_sum)
  values (:scope, :scope_number, :body_sha256, :at_ms, :reply, :sealed_reply, :row_sum)
  on conflict (scope) do update set body_sha256 = excluded.body_sha256, at_ms = excluded.at_ms, reply = excluded.reply,
  sealed_reply = excluded.sealed_reply, row_sum = excluded.row_sum`
const PUT_UNLESS_LIVE = `${PUT} where ${TABLE}.at_ms <= :expired`
const REMOVE = `delete from ${TABLE} where scope in (select scope from ${TABLE} where at_ms <= :expired limit :limit)`

const LATER = `select scope from ${TABLE} where scope > :after and at_ms > :expired order by scope limit :limit`
const PUT_UNLESS_THERE = PUT.replace(/on conflict[\s\S]*/, 'on conflict (scope) do nothing')

/** Keys that `present` knows, and the store that takes its place does not: nothing runs by them a second time. */
export async function closeKeys(tx: Tx, present: Reader, clock: WindowClock): Promise<void> {
  const at = { expired: agoMs(clock, KEPT_MS), limit: REMOVED_AT_ONCE }
  for (let after: string | undefined = ''; after !== undefined; ) {
    const page: readonly Pick<IdempotencyRow, 'scope'>[] = await present.all(LATER, { ...at, after })
    for (const { scope } of page) {
      const row = { scope, body_sha256: UNDONE, at_ms: clock.nowMs(), reply: null }
      const rest = { scope_number: numberOf(scope), sealed_reply: null, row_sum: rowSum(SUMMED, row) }
      await tx.run(PUT_UNLESS_THERE, { ...row, ...rest })
    }
    after = page.length < at.limit ? undefined : page.at(-1)?.scope
  }
}

/** The kept first results. */
export interface IdempotencyStore {
  stored(reader: Reader, scope: string, clock: WindowClock): Promise<StoredReply | undefined>
  /** Throws `idempotency_in_progress` when a live row of another request is there. */
  claim(tx: Tx, claim: IdempotencyClaim, reply: Reply, clock: WindowClock): Promise<void>
  /** Writes the result, over one that is there. */
  put(tx: Tx, claim: IdempotencyClaim, reply: Reply, nowMs: number): Promise<void>
}

/** The store of results; those marked `sealed` are encrypted under the vault key. */
export function createIdempotencyStore(vault: Vault): IdempotencyStore {
  vault.register({ table: TABLE, key: 'scope', columns: ['sealed_reply'] })

  const rowOf = (claim: IdempotencyClaim, reply: Reply, nowMs: number): SqlParams => {
    const isSealed = reply.sealed === true
    const text = encodeReply(reply, isSealed ? claim.bodySha256 : undefined)
    const row = {
      scope: claim.scope,
      scope_number: numberOf(claim.scope),
      body_sha256: isSealed ? '' : claim.bodySha256,
      at_ms: nowMs,
      reply: isSealed ? null : text,
      sealed_reply: isSealed ? vault.seal(Buffer.from(text), rowId(claim.scope)) : null,
    }
    return { ...row, row_sum: rowSum(SUMMED, row) }
  }

  return {
    stored: async (reader, scope, clock) => {
      const row = await find(reader, scope)
      if (row === undefined || row.at_ms <= agoMs(clock, KEPT_MS)) return undefined
      if (!hasValidSum(SUMMED, { ...row })) throw storeCorrupt(TABLE)
      if (row.body_sha256 === UNDONE) return { bodySha256: UNDONE, reply: {}, isUndone: true }
      return decodeReply(textOf(row, vault), row)
    },
    claim: async (tx, claim, reply, clock) => {
      const changed = await tx.run(PUT_UNLESS_LIVE, {
        ...rowOf(claim, reply, clock.nowMs()),
        expired: agoMs(clock, KEPT_MS),
      })
      if (changed === 0) throw idempotencyInProgress()
    },
    put: async (tx, claim, reply, nowMs) => {
      await tx.run(PUT, rowOf(claim, reply, nowMs))
    },
  }
}

/**
 * By both indices of the table: a damaged page makes one of them miss a row without a word, and what was done would be
 * done again.
 */
async function find(reader: Reader, scope: string): Promise<IdempotencyRow | undefined> {
  const row = await reader.get<IdempotencyRow>(FIND, { scope })
  return row ?? (await reader.get<IdempotencyRow>(FIND_OTHERWISE, { scope, number: numberOf(scope) }))
}

/** Few scopes share one. */
function numberOf(scope: string): number {
  return crc32(scope)
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
  /** Digest of the request; in the column where the reply is no secret. */
  readonly bodySha256?: string
}

/** Whether a reply can be kept: a server error says nothing about the request, a stream is gone once read. */
export function isKeepable(reply: Reply): boolean {
  return (reply.status ?? 200) < 500 && reply.stream === undefined
}

/**
 * `bodySha256`: who asks for a secret may have sent one, and what is short (a PIN, a confirmation code) could be tried
 * against its digest.
 */
function encodeReply({ status, headers, body }: Reply, bodySha256: string | undefined): string {
  const isBytes = body instanceof Uint8Array
  return JSON.stringify({
    bodySha256,
    status,
    headers,
    ...(isBytes ? { base64: Buffer.from(body).toString('base64') } : { body }),
  })
}

function decodeReply(text: string, row: IdempotencyRow): StoredReply {
  // The row sum or the vault has vouched for the text that `encodeReply` made.
  const { base64, bodySha256 = row.body_sha256, ...kept } = JSON.parse(text) as KeptReply
  const reply: Reply = base64 === undefined ? kept : { ...kept, body: Buffer.from(base64, 'base64') }
  return { bodySha256, reply: row.sealed_reply === null ? reply : { ...reply, sealed: true } }
}

/** Removes results that are older than a day. */
export async function sweepIdempotency(db: Database, clock: WindowClock): Promise<void> {
  const expired = agoMs(clock, KEPT_MS)
  let removed = REMOVED_AT_ONCE
  while (removed === REMOVED_AT_ONCE)
    removed = await db.transact((tx) => tx.run(REMOVE, { expired, limit: REMOVED_AT_ONCE }))
}
