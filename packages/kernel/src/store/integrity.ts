import { setImmediate as nextTurn } from 'node:timers/promises'
import { rowSum, type SqlParams, type SqlValue, type TableSpec } from '@steeple/contracts'
import type { Database } from './database.ts'

/** Rows checked before the event loop gets its turn. */
const SLICE_ROWS = 500
/** Findings reported for each table; a broken disk has many. */
const MOST_FINDINGS = 100

/** One thing that is wrong. `key` are the values of the row's key, when it is a row. */
export interface IntegrityProblem {
  readonly table: string
  readonly key: Readonly<Record<string, unknown>> | undefined
  readonly reason: string
}

/** What a scan has found. */
export interface IntegrityReport {
  readonly ok: boolean
  readonly rows: number
  readonly problems: readonly IntegrityProblem[]
}

/**
 * Verifies the row sums of all given tables and the structure of the database file.
 *
 * Reads in slices, so the service goes on meanwhile; rows written during the scan may be seen or not. The audit trail
 * has no row sums: `AuditTrail.verify` is its check.
 */
export async function scanIntegrity(
  db: Database,
  specs: readonly TableSpec[],
  signal: AbortSignal = new AbortController().signal,
): Promise<IntegrityReport> {
  const problems: IntegrityProblem[] = []
  let rows = 0
  for (const spec of specs) rows += await scanTable(db, spec, problems, signal)
  for (const reason of await structure(db, signal))
    problems.push({ table: '(database file)', key: undefined, reason })
  return { ok: problems.length === 0, rows, problems }
}

async function structure(db: Database, signal: AbortSignal): Promise<readonly string[]> {
  try {
    return await db.fileProblems(signal)
  } catch (error) {
    signal.throwIfAborted()
    return [error instanceof Error ? error.message : String(error)]
  }
}

async function scanTable(
  db: Database,
  spec: TableSpec,
  problems: IntegrityProblem[],
  signal: AbortSignal,
): Promise<number> {
  const found: IntegrityProblem[] = []
  let rows = 0
  try {
    for await (const slice of slicesOf(db, spec)) {
      signal.throwIfAborted()
      rows += slice.length
      for (const row of slice) {
        if (rowSum(spec.columns, row) !== row.row_sum && found.length < MOST_FINDINGS)
          found.push({ table: spec.name, key: keyOf(spec, row), reason: 'the row fails its checksum' })
      }
      await nextTurn()
    }
  } catch (error) {
    signal.throwIfAborted()
    const reason = error instanceof Error ? error.message : String(error)
    found.push({ table: spec.name, key: undefined, reason: `the table cannot be read: ${reason}` })
  }
  problems.push(...found)
  return rows
}

type Raw = Readonly<Record<string, SqlValue>>

async function* slicesOf(db: Database, spec: TableSpec): AsyncGenerator<readonly Raw[]> {
  const select = `select ${[...spec.columns, 'row_sum'].join(', ')} from ${spec.name}`
  const order = `order by ${spec.key.join(', ')} limit ${SLICE_ROWS}`
  const position = spec.key.map((column) => `:${column}`).join(', ')
  const after = `${select} where (${spec.key.join(', ')}) > (${position}) ${order}`
  let slice = await db.all<Raw>(`${select} ${order}`)
  while (slice.length > 0) {
    yield slice
    const last = slice.at(-1)
    slice = last === undefined || slice.length < SLICE_ROWS ? [] : await db.all<Raw>(after, keyOf(spec, last))
  }
}

function keyOf(spec: TableSpec, row: Raw): SqlParams {
  return Object.fromEntries(spec.key.map((column) => [column, row[column] ?? null]))
}
