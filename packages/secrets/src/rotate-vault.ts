import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises'
import type { TableSpec } from '@steeple/contracts'
import type { Database } from '@steeple/store'
import { resealTable, type SealingPass, SQL_NAME } from './reseal-table.ts'
import { type KernelVault, sealedHead } from './vault.ts'

/** What may hold sealed values: every column of octets. */
const COLUMNS = {
  sqlite: `select tables.name as table_name, columns.name as column_name
    from sqlite_schema as tables join pragma_table_info(tables.name) as columns
    where tables.type = 'table' and lower(columns.type) in ('bytea', 'blob') order by 1, 2`,
  postgres: `select table_name, column_name from information_schema.columns
    where table_schema = current_schema() and data_type = 'bytea' order by 1, 2`,
} as const

interface Column {
  readonly table_name: string
  readonly column_name: string
}

/** Rows of one look at a store whose reads hold up the process. */
const BATCH_ROWS = 2_000

/**
 * Where values lie under replaced keys, in tables that nobody has registered as well, one line each: the list beside the keys may be
 * lost, or of a process that did not come far. Throws the signal's reason, `store_unavailable`.
 */
async function leftBehind(
  db: Database,
  vault: KernelVault,
  signal: AbortSignal | undefined,
): Promise<readonly string[]> {
  const found: string[] = []
  for (const { table_name: table, column_name: column } of await db.all<Column>(COLUMNS[db.dialect])) {
    if (![table, column].every((name) => SQL_NAME.test(name))) continue
    for (const { id } of vault.keyring.replaced)
      if (await holds(db, { table, column, head: sealedHead(id) }, signal))
        found.push(
          `${table}.${column} has values under the key ${id}, and sealed-tables.json beside the keys does not name them; ` +
            'start the service once with all of its plugins, then rotate again',
        )
  }
  return found
}

/** Whether a value of the column begins so. */
async function holds(
  db: Database,
  { table, column, head }: { readonly table: string; readonly column: string; readonly head: Buffer },
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const begins = `substr(${column}, 1, ${head.length}) = :head`
  if (db.dialect === 'postgres')
    return (await db.get(`select 1 as there from ${table} where ${begins} limit 1`, { head })) !== undefined
  const sql = `select max(row_at) as last, max(${begins}) as there
    from (select rowid as row_at, ${column} from ${table} where rowid > :after order by rowid limit ${BATCH_ROWS})`
  let after: number | null = -1
  while (after !== null) {
    await nextTurn()
    signal?.throwIfAborted()
    const batch: Batch | undefined = await db.get<Batch>(sql, { head, after })
    if (batch?.there === 1) return true
    after = batch?.last ?? null
  }
  return false
}

interface Batch {
  readonly last: number | null
  readonly there: number | null
}

export interface RotationOptions {
  readonly db: Database
  readonly vault: KernelVault
  /** Columns of the tables that carry a `row_sum`. A table with one that is not here is left alone. */
  readonly tables: readonly TableSpec[]
  /** Only finish what a rotation before left unfinished; make no new key. */
  readonly isResumeOnly?: boolean
  /** Waits until values that were sealed before the switch are on their way to the store; a second when absent. */
  readonly settle?: () => Promise<void>
  readonly signal?: AbortSignal
}

export interface RotationReport {
  readonly keyId: string
  /** Values that were sealed anew. */
  readonly resealed: number
  /** Ids of replaced keys that are gone now. */
  readonly retired: readonly string[]
  /** Why replaced keys had to stay, one line each; empty when the rotation is complete. */
  readonly kept: readonly string[]
}

/** Passes until nothing is left; more than one only when values arrive meanwhile. */
const MAX_PASSES = 10
const SETTLE_MS = 1_000

/**
 * Makes a new vault key and seals everything under it, in batches, while the service runs.
 *
 * May be killed at any point: replaced keys stay on disk until no row names them, and the next call goes on where
 * this one ended instead of making yet another key. It must run in the process that serves the node (its vault
 * seals under the new key at once) or while no process serves it.
 *
 * Assumes that values are sealed with the row id `<table>/<key>`. A row that does not open is left as it is, and the
 * key that it names stays. Throws `store_unavailable`.
 */
export async function rotateVault(options: RotationOptions): Promise<RotationReport> {
  const { vault, db } = options
  const { keyring } = vault
  const isUnfinished = keyring.replaced.length > 0
  if (!isUnfinished && options.isResumeOnly === true) {
    return { keyId: vault.keyId, resealed: 0, retired: [], kept: [] }
  }
  if (!isUnfinished) keyring.replace()
  let resealed = (await onePass(options)).resealed
  await (options.settle ?? (() => delay(SETTLE_MS, undefined, signalOf(options))))()
  // What was handed to the writer before is behind it now.
  await db.transact(async () => undefined)
  let pass = await onePass(options)
  for (let count = 1; pass.resealed > 0 && count < MAX_PASSES; count++) {
    resealed += pass.resealed
    pass = await onePass(options)
  }
  resealed += pass.resealed
  const kept = [...pass.kept]
  if (pass.resealed > 0) kept.push('values are still being sealed under a replaced key; rotate again')
  else if (kept.length === 0) kept.push(...(await leftBehind(db, vault, options.signal)))
  if (kept.length > 0) return { keyId: vault.keyId, resealed, retired: [], kept }
  const retired = keyring.replaced.map(({ id }) => id)
  for (const id of retired) keyring.retire(id)
  return { keyId: vault.keyId, resealed, retired, kept }
}

function signalOf({ signal }: RotationOptions): { readonly signal?: AbortSignal } {
  return signal === undefined ? {} : { signal }
}

async function onePass(options: RotationOptions): Promise<SealingPass> {
  const pass: SealingPass = { resealed: 0, kept: new Set() }
  for (const sealed of options.vault.registered()) await resealTable(options, sealed, pass)
  return pass
}
