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
import { type KernelVault, sealedKeyId } from './vault.ts'

/** What one look at all sealed values has done and found. */
export interface SealingPass {
  resealed: number
  /** Why replaced keys have to stay. */
  readonly kept: Set<string>
}

/** Where the values are and what they are sealed with. */
export interface SealingPlace {
  readonly db: Database
  readonly vault: KernelVault
  readonly tables: readonly TableSpec[]
  readonly signal?: AbortSignal
}

/** Rows of one write: short enough not to hold up other writers. */
const BATCH_ROWS = 200
/** What may stand in a statement as it is. */
export const SQL_NAME: RegExp = /^[a-z][a-z0-9_]*$/

type Row = Readonly<Record<string, SqlValue>>

/** One table, its statements and, when its rows carry a checksum, their columns. */
interface Work {
  readonly place: SealingPlace
  readonly sealed: SealedColumns
  readonly spec: TableSpec | undefined
  readonly first: string
  readonly next: string
  readonly update: string
  readonly pass: SealingPass
}

/** Seals every value of a table that is under a replaced key anew, in batches. Rows that do not open stay. */
export async function resealTable(
  place: SealingPlace,
  sealed: SealedColumns,
  pass: SealingPass,
): Promise<void> {
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
    first: `${select} order by ${key} limit ${BATCH_ROWS}`,
    next: `${select} where ${key} > :after order by ${key} limit ${BATCH_ROWS}`,
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
    batch = batch.length < BATCH_ROWS || after === undefined ? [] : await place.db.all<Row>(next, { after })
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
