import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises'
import {
  hasValidSum,
  messageOf,
  restAfter,
  type SqlParams,
  type SqlValue,
  type TableSpec,
} from '@steeple/contracts'
import type { Database } from './database.ts'

/** How fast work beside the service's own goes on. */
export interface ScanPace {
  /** Rows of the next piece: others wait for as long as one takes. */
  readonly rows: number
  /** Called after each piece. Rejects when the signal aborts. */
  rest(): Promise<void>
}

/** At full speed: for a command that nobody else waits for. */
export function fullPace(signal: AbortSignal): ScanPace {
  return {
    rows: 500,
    rest: async () => {
      signal.throwIfAborted()
      await nextTurn()
    },
  }
}

/** Rows of a piece beside requests: about a millisecond of work, more where a processor is quick. */
const FEWEST_ROWS = 32
const MOST_ROWS = 256
/** A piece of less work has twice as many rows the next time, one of more than twice that half as many, ms. */
const SHORT_MS = 0.6
/** Work before the first rest, ms: a small store is looked through at once. */
const HEAD_START_MS = 250

/** The longest rest for time that a piece did not work but waited, ms. */
const MOST_REST_FOR_WAITS_MS = 500

/**
 * Takes `share` of a core, with all else that takes one (`restAfter`): after each piece it rests so much longer than the
 * piece worked. A piece that waited for the disk or for a processor rests for that too, but not for long: on a busy machine a
 * check of a small store took minutes.
 */
export function gentlePace(signal: AbortSignal, share: number): ScanPace {
  const times = 1 / share - 1
  let since = performance.now()
  let sinceCpuMs = threadCpuMs()
  let passedMs = 0
  let rows = FEWEST_ROWS
  return {
    get rows() {
      return rows
    },
    rest: async () => {
      signal.throwIfAborted()
      const pieceMs = performance.now() - since
      const cpuMs = threadCpuMs() - sinceCpuMs
      const restMs = Math.max(cpuMs * times, Math.min(pieceMs * times, MOST_REST_FOR_WAITS_MS))
      rows = rowsAfter(rows, cpuMs)
      passedMs += pieceMs
      if (passedMs < HEAD_START_MS) await nextTurn()
      else await delay(restAfter(restMs), undefined, { signal, ref: false })
      since = performance.now()
      sinceCpuMs = threadCpuMs()
    },
  }
}

function rowsAfter(rows: number, cpuMs: number): number {
  if (cpuMs < SHORT_MS) return Math.min(2 * rows, MOST_ROWS)
  return cpuMs > 2 * SHORT_MS ? Math.max(rows / 2, FEWEST_ROWS) : rows
}

function threadCpuMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

/** Findings reported for each table; a broken disk has many. */
const MOST_FINDINGS = 100

/** One thing that is wrong. `key` are the values of the row's key, when it is a row. */
export interface IntegrityProblem {
  readonly table: string
  readonly key: Readonly<Record<string, unknown>> | undefined
  readonly reason: string
}

interface IntegrityReport {
  readonly ok: boolean
  readonly rows: number
  readonly problems: readonly IntegrityProblem[]
}

/** Where a scan stands: all tables with a name before `table` are done, and its rows up to `key`. */
export interface ScanPosition {
  readonly table: string
  readonly key: Readonly<Record<string, string | number | null>> | undefined
  /** Rows looked at until here. */
  readonly rows: number
}

/** How a scan goes about it. */
interface ScanOptions {
  readonly pace: ScanPace
  /** Where one before has ended. */
  readonly from?: ScanPosition
  /** Called after each piece, with what was found until then. */
  onPiece?(position: ScanPosition, problems: readonly IntegrityProblem[]): void
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
  options: ScanOptions = { pace: fullPace(signal) },
): Promise<IntegrityReport> {
  // First, since reads go by what it finds.
  const ofFile = await structure(db, signal)
  const problems: IntegrityProblem[] = []
  const { from } = options
  let rows = from?.rows ?? 0
  for (const spec of [...specs].sort((one, other) => (one.name < other.name ? -1 : 1))) {
    if (from !== undefined && spec.name < from.table) continue
    rows = await scanTable({ db, spec, problems, signal, options }, rows)
  }
  for (const reason of ofFile) problems.push({ table: '(database file)', key: undefined, reason })
  return { ok: problems.length === 0, rows, problems }
}

async function structure(db: Database, signal: AbortSignal): Promise<readonly string[]> {
  try {
    return await db.fileProblems(signal)
  } catch (error) {
    signal.throwIfAborted()
    return [messageOf(error)]
  }
}

interface TableScan {
  readonly db: Database
  readonly spec: TableSpec
  readonly problems: IntegrityProblem[]
  readonly signal: AbortSignal
  readonly options: ScanOptions
}

/** Gives how many rows were looked at until the end of the table, with those `before`. */
async function scanTable(
  { db, spec, problems, signal, options }: TableScan,
  before: number,
): Promise<number> {
  const { pace, from, onPiece } = options
  const start = from?.table === spec.name ? from.key : undefined
  let rows = before
  let found = 0
  try {
    for await (const slice of slicesOf(db, spec, pace, start)) {
      rows += slice.length
      for (const row of slice) {
        if (hasValidSum(storedOf(spec), row) || found >= MOST_FINDINGS) continue
        found += 1
        problems.push({ table: spec.name, key: keyOf(spec, row), reason: 'the row fails its checksum' })
      }
      const last = slice.at(-1)
      onPiece?.(
        { table: spec.name, key: last === undefined ? undefined : placeOf(spec, last), rows },
        problems,
      )
      await pace.rest()
    }
  } catch (error) {
    signal.throwIfAborted()
    const reason = messageOf(error)
    problems.push({ table: spec.name, key: undefined, reason: `the table cannot be read: ${reason}` })
  }
  return rows
}

type Raw = Readonly<Record<string, SqlValue>>

async function* slicesOf(
  db: Database,
  spec: TableSpec,
  pace: ScanPace,
  start: SqlParams | undefined,
): AsyncGenerator<readonly Raw[]> {
  const select = `select ${[...storedOf(spec), 'row_sum'].join(', ')} from ${spec.name}`
  const position = spec.key.map((column) => `:${column}`).join(', ')
  const after = `where (${spec.key.join(', ')}) > (${position})`
  for (let from = start; ; ) {
    const limit = pace.rows
    const order = `order by ${spec.key.join(', ')} limit ${limit}`
    const slice = await db.all<Raw>(`${select} ${from === undefined ? '' : after} ${order}`, from)
    const last = slice.at(-1)
    if (last === undefined) return
    yield slice
    if (slice.length < limit) return
    from = keyOf(spec, last)
  }
}

/** The key of a row as it can be written down; undefined when a part of it is no text or number. */
function placeOf(spec: TableSpec, row: Raw): ScanPosition['key'] {
  const parts = spec.key.map((column) => [column, row[column] ?? null] as const)
  return parts.some(([, value]) => value instanceof Uint8Array)
    ? undefined
    : // No part is octets.
      (Object.fromEntries(parts) as NonNullable<ScanPosition['key']>)
}

/** The columns that sums of its rows cover, those of a later version too. */
function storedOf({ stored, columns }: TableSpec): readonly string[] {
  return stored ?? columns
}

function keyOf(spec: TableSpec, row: Raw): SqlParams {
  return Object.fromEntries(spec.key.map((column) => [column, row[column] ?? null]))
}

/** What is written down of the checks of the store, so that a restart goes on where the last one ended. */
interface ScanState {
  /** Where the check that is under way stands; undefined when none is, or when it has found something. */
  readonly position?: ScanPosition
  /** Rows of the last whole check. */
  readonly rows?: number
}

export interface ScanMemory {
  read(): ScanState
  /** Not synced: what is lost with it is some work. */
  write(state: ScanState): void
}

const FILE = 'store-check.json'
const MOST_BYTES = 16_384

/** Reads and writes `store-check.json` in a data directory. What cannot be read or written is as if there was none. */
export function scanMemory(dataDir: string): ScanMemory {
  const path = join(dataDir, FILE)
  return {
    read: () => {
      try {
        const text = readFileSync(path, 'utf8')
        return text.length > MOST_BYTES ? {} : stateFrom(JSON.parse(text))
      } catch {
        return {}
      }
    },
    write: (state) => {
      try {
        writeFileSync(`${path}.new`, JSON.stringify(state), { mode: 0o600 })
        renameSync(`${path}.new`, path)
      } catch {
        // The check goes on; only a restart begins it anew.
      }
    },
  }
}

function stateFrom(value: unknown): ScanState {
  const { position, rows } = Object(value) as Partial<Record<keyof ScanState, unknown>>
  const counted = Number.isSafeInteger(rows) ? { rows: Number(rows) } : {}
  return isPosition(position) ? { ...counted, position } : counted
}

function isPosition(value: unknown): value is ScanPosition {
  const { table, key, rows } = Object(value) as Partial<Record<keyof ScanPosition, unknown>>
  const isKey =
    key === undefined ||
    (typeof key === 'object' &&
      key !== null &&
      Object.values(key).every((part) => part === null || ['string', 'number'].includes(typeof part)))
  return typeof table === 'string' && isKey && Number.isSafeInteger(rows)
}
