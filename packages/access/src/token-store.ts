import {
  type Db,
  defineTable,
  type Reader,
  rowSum,
  type Table,
  type TableSpec,
  type Tx,
} from '@steeple/contracts'
import type { TokenKind } from './authenticator.ts'

/** A token as stored: its hash, never itself. Times are ms since the epoch. */
export interface TokenRow {
  readonly id: string
  readonly token_sha256: string
  readonly name: string
  readonly kind: TokenKind
  /** JSON list of roles; empty for a bootstrap token. */
  readonly roles: string
  /** The node that a bootstrap token is bound to; the one that used it, once it is used. */
  readonly node_id: string | null
  readonly node_name: string | null
  readonly created_at_ms: number
  readonly expires_at_ms: number | null
  /** When a bootstrap token was burnt. */
  readonly used_at_ms: number | null
  /** JSON of the principal that made it: `{kind, id, name}`. */
  readonly created_by: string
  /** The credential that it ends with: see `derived/source.ts`. Null: none. */
  readonly parent: string | null
}

interface UseRow {
  readonly token_id: string
  readonly last_used_at_ms: number
}

export const TOKENS: Table<TokenRow> = defineTable(
  'access_token',
  [
    'id',
    'token_sha256',
    'name',
    'kind',
    'roles',
    'node_id',
    'node_name',
    'created_at_ms',
    'expires_at_ms',
    'used_at_ms',
    'created_by',
    'parent',
  ],
  ['id'],
)
const USES: Table<UseRow> = defineTable('access_token_use', ['token_id', 'last_used_at_ms'], ['token_id'])

/** The tables of this package, for the integrity scan. */
export const TABLES: readonly TableSpec[] = [TOKENS, USES]

const BURN = `update access_token set used_at_ms = :used_at_ms, node_id = :node_id, row_sum = :row_sum
  where id = :id and used_at_ms is null`
const OVER = 'where expires_at_ms < :before_ms order by expires_at_ms limit :limit'

/** The token with that hash, checked. */
export async function findByHash(reader: Reader, sha256: string): Promise<TokenRow | undefined> {
  const rows = await TOKENS.select(reader, 'where token_sha256 = :sha256', { sha256 })
  return rows[0]
}

/** Removes a token and what is known of its use. False when there was none. */
export async function removeToken(tx: Tx, id: string): Promise<boolean> {
  await USES.remove(tx, { token_id: id })
  return TOKENS.remove(tx, { id })
}

/** Marks a bootstrap token as used by a node; false when another transaction was faster. */
export async function burnToken(tx: Tx, row: TokenRow, nodeId: string, usedAtMs: number): Promise<boolean> {
  const burnt: TokenRow = { ...row, node_id: nodeId, used_at_ms: usedAtMs }
  const changed = await tx.run(BURN, {
    id: row.id,
    node_id: nodeId,
    used_at_ms: usedAtMs,
    row_sum: rowSum(TOKENS.columns, { ...burnt }),
  })
  return changed > 0
}

/** The tokens whose maker's entry has that id in it: of whatever kind, and wherever. */
export function tokensNaming(reader: Reader, id: string): Promise<readonly TokenRow[]> {
  return TOKENS.select(reader, 'where created_by like :naming', { naming: `%"${id}"%` })
}

/** What a token is called that a link has opened the console with. */
export const CONSOLE_TOKEN = 'console'

/** The tokens that links have opened. */
export function consoleTokens(reader: Reader): Promise<readonly TokenRow[]> {
  return TOKENS.select(reader, 'where name = :name and parent is not null', { name: CONSOLE_TOKEN })
}

/** The bootstrap tokens that nobody has used. */
export function openBootstraps(reader: Reader): Promise<readonly TokenRow[]> {
  return TOKENS.select(reader, "where kind = 'bootstrap' and used_at_ms is null")
}

/** The tokens that end with that credential. */
export function tokensUnder(reader: Reader, parent: string): Promise<readonly TokenRow[]> {
  return TOKENS.select(reader, 'where parent = :parent', { parent })
}

/** How many tokens there are, expired ones included. */
export async function countTokens(reader: Reader): Promise<number> {
  const row = await reader.get<{ readonly tokens: number }>('select count(*) as tokens from access_token')
  return Number(row?.tokens ?? 0)
}

/** At most `limit` tokens that expired before `beforeMs`. */
export function listExpired(reader: Reader, beforeMs: number, limit: number): Promise<readonly TokenRow[]> {
  return TOKENS.select(reader, OVER, { before_ms: beforeMs, limit })
}

/** When a token was last used, as flushed; undefined when it never was. */
export async function lastUseOf(reader: Reader, tokenId: string): Promise<number | undefined> {
  return (await USES.find(reader, { token_id: tokenId }))?.last_used_at_ms
}

/** Writes last uses of tokens that still exist, in one transaction. A later use is never replaced by an earlier one. */
export function putUses(db: Db, uses: ReadonlyMap<string, number>): Promise<void> {
  return db.write(async (tx) => {
    for (const [tokenId, usedAtMs] of uses) {
      if ((await TOKENS.find(tx, { id: tokenId })) === undefined) continue
      const known = await lastUseOf(tx, tokenId)
      if (known === undefined || known < usedAtMs) {
        await USES.put(tx, { token_id: tokenId, last_used_at_ms: usedAtMs })
      }
    }
  })
}
