import { allListed, chunksOf, type Reader, type SqlParams, type Tx } from '@steeple/contracts'
import type { CalendarPeriod } from '../periods.ts'

/** What a SIM has used in one period of the calendar. Derived from the ledger, in the transactions that write it. */
export interface UsedRow {
  readonly hash: string
  readonly kind: CalendarPeriod
  readonly starts_at_ms: number
  readonly up_bytes: number
  readonly down_bytes: number
  /** 0 or 1: some octets may be missing. */
  readonly is_incomplete: number
  readonly updated_at_ms: number
}

const COLUMNS = [
  'hash',
  'kind',
  'starts_at_ms',
  'up_bytes',
  'down_bytes',
  'is_incomplete',
  'updated_at_ms',
] as const
/** Rows of one statement. */
const AT_ONCE = 50
/** An octet count that JSON carries exactly ends here: what comes on top stays out. */
const MOST = Number.MAX_SAFE_INTEGER

/** Adds to rows, or makes them. No two have the same key. */
export async function addUsed(tx: Tx, rows: readonly UsedRow[]): Promise<void> {
  for (const part of chunksOf(rows, AT_ONCE)) await tx.run(addSql(part.length), paramsOf(part))
}

function addSql(length: number): string {
  const values = Array.from(
    { length },
    (_, i) => `(${COLUMNS.map((column) => `:${column}${i}`).join(', ')})`,
  ).join(', ')
  const sum = (column: string): string => {
    const both = `fair_use_used.${column} + excluded.${column}`
    return `${column} = case when ${both} > ${MOST} then ${MOST} when ${both} < 0 then 0 else ${both} end`
  }
  return `insert into fair_use_used (${COLUMNS.join(', ')}) values ${values}
    on conflict (hash, kind, starts_at_ms) do update set ${sum('up_bytes')}, ${sum('down_bytes')},
    is_incomplete = case when excluded.is_incomplete = 1 then 1 else fair_use_used.is_incomplete end,
    updated_at_ms = excluded.updated_at_ms`
}

function paramsOf(rows: readonly UsedRow[]): SqlParams {
  const params: Record<string, string | number> = {}
  rows.forEach((row, i) => {
    for (const column of COLUMNS) params[`${column}${i}`] = row[column]
  })
  return params
}

/** Writes a row whole, whether it is there or not; `columns` begin with those of the `keys`. */
export function putSql(table: string, columns: readonly string[], keys: number): string {
  const changed = columns.slice(keys).map((column) => `${column} = excluded.${column}`)
  return `insert into ${table} (${columns.join(', ')})
    values (${columns.map((column) => `:${column}`).join(', ')})
    on conflict (${columns.slice(0, keys).join(', ')}) do update set ${changed.join(', ')}`
}

const PUT = putSql('fair_use_used', COLUMNS, 3)

/** Writes a row as a whole. */
export async function putUsed(tx: Tx, row: UsedRow): Promise<void> {
  await tx.run(PUT, { ...row })
}

/** The rows of SIMs whose period began then or later, by hash, oldest first. */
export async function usedSince(
  reader: Reader,
  hashes: readonly string[],
  fromMs: number,
): Promise<ReadonlyMap<string, readonly UsedRow[]>> {
  const sql = (where: string): string => `select ${COLUMNS.join(', ')} from fair_use_used
    where ${where} and starts_at_ms >= :from_ms order by starts_at_ms`
  const rows = await allListed<UsedRow>(reader, 'hash', hashes, sql, { from_ms: fromMs })
  return Map.groupBy(rows, ({ hash }) => hash)
}

const OLD = `delete from fair_use_used where kind = :kind and starts_at_ms < :before_ms
  and hash not in (select hash from fair_use_quota where period = 'none')`

/** Removes what began before that; quotas without a period need all of theirs. Says how many rows. */
export async function pruneUsed(tx: Tx, kind: CalendarPeriod, beforeMs: number): Promise<number> {
  return await tx.run(OLD, { kind, before_ms: beforeMs })
}
