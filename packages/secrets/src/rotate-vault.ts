import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises'
import {
  hasValidSum,
  rowSum,
  type SealedColumns,
  type SqlParams,
  type SqlValue,
  type TableSpec,
  type Tx,
} from '@steeple/contracts'
import type { Database } from '@steeple/store'
import { type KernelVault, sealedHead, sealedKeyId } from './vault.ts'

/** What one look at all sealed values has done and found. */
interface SealingPass {
  resealed: number
  /** Why replaced keys have to stay. */
  readonly kept: Set<string>
}

/** Rows of one write: short enough not to hold up other writers. */
const RESEALED_ROWS = 200
/** What may stand in a statement as it is. */
const SQL_NAME: RegExp = /^[a-z][a-z0-9_]*$/

type Row = Readonly<Record<string, SqlValue>>

/** One table, its statements and, when its rows carry a checksum, their columns. */
interface Work {
  readonly place: RotationOptions
  readonly sealed: SealedColumns
  readonly spec: TableSpec | undefined
  readonly first: string
  readonly next: string
  readonly update: string
  readonly pass: SealingPass
}

/** Seals every value of a table that is under a replaced key anew, in batches. Rows that do not open stay. */
async function resealTable(place: RotationOptions, sealed: SealedColumns, pass: SealingPass): Promise<void> {
  if (![sealed.table, sealed.key, ...sealed.columns].every((name) => SQL_NAME.test(name))) {
    pass.kept.add(`the table ${sealed.table} or one of its columns has a name that is no SQL name`)
    return
  }
  const spec = place.tables.find(({ name }) => name === sealed.table)
  const work: Work = { place, sealed, spec, pass, ...statements(sealed, spec) }
  const isLocked = spec === undefined && (await hasRowSum(place.db, sealed.table))
  for await (const batch of batches(work)) {
    const hasOld = batch.some((row) => sealed.columns.some((column) => isOld(row[column], place.vault)))
    if (!hasOld) continue
    if (isLocked) {
      pass.kept.add(
        `the columns of ${sealed.table} are not known; load the plugin that owns it and rotate again`,
      )
      return
    }
    await place.db.transact(async (tx) => {
      for (const row of await again(tx, work, batch)) await resealRow(tx, work, row)
    })
  }
}

function statements(
  { table, key, columns }: SealedColumns,
  spec: TableSpec | undefined,
): { readonly first: string; readonly next: string; readonly update: string } {
  const sums = spec === undefined ? [] : ['row_sum']
  const listed = [...new Set([key, ...columns, ...(spec?.columns ?? []), ...sums])].join(', ')
  const select = `select ${listed} from ${table}`
  const set = [...columns, ...sums].map((name) => `${name} = :${name}`).join(', ')
  // Another instance may have written the row since it was read.
  const isSame = spec === undefined ? '' : ' and row_sum = :sum_before'
  return {
    first: `${select} order by ${key} limit ${RESEALED_ROWS}`,
    next: `${select} where ${key} > :after order by ${key} limit ${RESEALED_ROWS}`,
    update: `update ${table} set ${set} where ${key} = :${key}${isSame}`,
  }
}

/** The rows of the table by key, read beside the writer. None when the table is gone. */
async function* batches({ place, sealed, first, next }: Work): AsyncGenerator<readonly Row[]> {
  let batch = await place.db.all<Row>(first)
  while (batch.length > 0) {
    place.signal?.throwIfAborted()
    yield batch
    const after = batch.at(-1)?.[sealed.key]
    batch =
      batch.length < RESEALED_ROWS || after === undefined ? [] : await place.db.all<Row>(next, { after })
  }
}

/** The same rows inside the writer, where they cannot change any more. */
async function again(tx: Tx, { sealed, first }: Work, batch: readonly Row[]): Promise<readonly Row[]> {
  const select = first.replace(/ order by .*$/, ` where ${sealed.key} = :key`)
  const rows: Row[] = []
  for (const { [sealed.key]: key } of batch) {
    const row = await tx.get<Row>(select, { key: key ?? null })
    if (row !== undefined) rows.push(row)
  }
  return rows
}

async function resealRow(tx: Tx, work: Work, row: Row): Promise<void> {
  const { sealed, spec, place, pass } = work
  const { table, key, columns } = sealed
  const anew: Record<string, SqlValue> = {}
  for (const column of columns) {
    const value = row[column]
    if (!isOld(value, place.vault)) continue
    const sealedAnew = reseal(place.vault, value, `${table}/${row[key]}`)
    if (sealedAnew !== undefined) anew[column] = sealedAnew
    else pass.kept.add(`a value of ${table}.${column} does not open; restore its row or remove it`)
  }
  const count = Object.keys(anew).length
  if (count === 0) return
  if (spec !== undefined && !hasValidSum(spec.columns, row)) {
    pass.kept.add(`a row of ${table} fails its checksum; restore it or remove it`)
    return
  }
  const changed: Row = { ...row, ...anew }
  const params: Record<string, SqlValue> = { [key]: row[key] ?? null }
  for (const column of columns) params[column] = changed[column] ?? null
  if (spec !== undefined) {
    params.row_sum = rowSum(spec.columns, changed)
    params.sum_before = row.row_sum ?? null
  }
  const rows = await tx.run(work.update, params satisfies SqlParams)
  // A row that was not written counts too: another pass has to see it.
  pass.resealed += rows === 0 ? 1 : count
}

function isOld(value: SqlValue | undefined, vault: KernelVault): value is Uint8Array {
  return value instanceof Uint8Array && sealedKeyId(value) !== vault.keyId
}

function reseal(vault: KernelVault, value: Uint8Array, rowId: string): Uint8Array | undefined {
  let plain: Uint8Array
  try {
    plain = vault.open(value, rowId)
  } catch {
    return undefined
  }
  try {
    return vault.seal(plain, rowId)
  } finally {
    plain.fill(0)
  }
}

/** Whether the rows of a table carry a checksum. A table that is gone has none. */
async function hasRowSum(db: Database, table: string): Promise<boolean> {
  try {
    await db.get(`select row_sum from ${table} limit 1`)
    return true
  } catch (error) {
    // A store that is away is another matter than a column that is not there.
    if ((await db.probe()) !== undefined) throw error
    return false
  }
}

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
  await (options.settle ?? (() => delay(SETTLE_MS, undefined, { signal: options.signal })))()
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

async function onePass(options: RotationOptions): Promise<SealingPass> {
  const pass: SealingPass = { resealed: 0, kept: new Set() }
  for (const sealed of options.vault.registered()) await resealTable(options, sealed, pass)
  return pass
}
