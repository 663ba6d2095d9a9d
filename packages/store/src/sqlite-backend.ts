import { closeSync, openSync, statSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { messageOf, rowsHidden, type SqlParams, type SqlValue, storeInvalid } from '@steeple/contracts'
import { type SqlCompiler, StatementCache, sqlCompiler, valuesOf } from './compiler.ts'
import type { Backend, Savepoint, WriterSession } from './database.ts'
import { type SqlToken, sqlTokens } from './sql-tokens.ts'
import {
  openSqliteConnection,
  type SqliteConnection,
  type SqliteStatement,
  sqliteFileProblems,
} from './sqlite-binding.ts'
import { type Checkpoints, sqliteCheckpoints } from './sqlite-checkpoints.ts'
import { copySqlite } from './sqlite-program.ts'
import { sqliteError } from './store-error.ts'
import { type CommitNote, commitAfter, commitNote } from './wal-check.ts'

/** One finding of a check of the file, and the table that it is of. */
export interface FileProblem {
  readonly table: string
  readonly reason: string
}

/** A statement that uses no index, and the tables that it names. */
interface OtherText {
  readonly text: string
  readonly tables: readonly string[]
  /** Whether it asks for rows by a list of keys, of which some may be missed. */
  readonly isList: boolean
}

/**
 * How much of the time rows may be looked for without an index: such a look goes through a whole table. Before the first check
 * is over most of what is not found is not there; in a damaged table it has to be known.
 */
const SHARE = { unknown: 0.05, damaged: 0.25 }
const MOST_SAVED_MS = 250
/** Of a larger table nobody else could be served meanwhile, before it is known to be damaged. */
const MOST_ROWS = 200_000
const MOST_TEXTS = 1_000

/**
 * What is known of the ways to the rows of a SQLite file. A flipped byte in a page of an index hides a row: nothing is found, and
 * nothing is wrong. As long as the file is not known to be whole, what is not found is looked for without indexes.
 */
export class OtherWays {
  /** Tables whose indexes may hide rows; undefined until a check has looked. */
  #suspects: ReadonlySet<string> | 'all' | undefined
  readonly #texts = new Map<string, OtherText | undefined>()
  #savedMs = MOST_SAVED_MS
  #sinceMs = performance.now()

  /** A check is over; `undefined`: the file could not be read to its end. */
  checked(problems: readonly FileProblem[] | undefined): void {
    this.#suspects = problems === undefined ? 'all' : new Set(problems.map(({ table }) => table))
  }

  /** Whether a check has found that rows may be missed. */
  get isDamaged(): boolean {
    return this.#suspects === 'all' || (this.#suspects?.size ?? 0) > 0
  }

  /**
   * The text to ask once more, past the indexes; undefined where what was found is right. `rows` says how many a table has at most. Throws
   * `store_corrupt` where it would have to be known and too much was looked for of late.
   */
  textFor(sql: string, hasFound: boolean, rows: (table: string) => number): string | undefined {
    const suspects = this.#suspects
    if (suspects === undefined) return hasFound ? undefined : this.#beforeCheck(sql, rows)
    if (suspects !== 'all' && suspects.size === 0) return undefined
    const other = this.#other(sql)
    if (other === undefined || (hasFound && !other.isList)) return undefined
    if (suspects !== 'all' && !other.tables.some((table) => suspects.has(table))) return undefined
    if (this.#hasTime(SHARE.damaged)) return other.text
    if (hasFound) return undefined
    throw rowsHidden()
  }

  #beforeCheck(sql: string, rows: (table: string) => number): string | undefined {
    const other = this.#other(sql)
    const [table, another] = other?.tables ?? []
    if (table === undefined || another !== undefined || !this.#hasTime(SHARE.unknown)) return undefined
    return rows(table) <= MOST_ROWS ? other?.text : undefined
  }

  /** A look past the indexes took so long. */
  spent(ms: number): void {
    this.#savedMs -= ms
  }

  #hasTime(share: number): boolean {
    const nowMs = performance.now()
    this.#savedMs = Math.min(MOST_SAVED_MS, this.#savedMs + (nowMs - this.#sinceMs) * share)
    this.#sinceMs = nowMs
    return this.#savedMs > 0
  }

  #other(sql: string): OtherText | undefined {
    if (this.#texts.has(sql)) return this.#texts.get(sql)
    if (this.#texts.size >= MOST_TEXTS) this.#texts.clear()
    const made = withoutIndexes(sql)
    this.#texts.set(sql, made)
    return made
  }
}

const STATEMENTS: ReadonlySet<string> = new Set(['select', 'update', 'delete'])
/** Behind the name of a table these are no name that it is given. */
const CLAUSES =
  /^(where|group|order|limit|join|inner|left|cross|natural|on|using|set|union|except|returning|having)$/

/** The statement with `not indexed` behind each table; undefined where it names none in a plain way. */
export function withoutIndexes(sql: string): OtherText | undefined {
  const tokens = sqlTokens(sql)
  if (!STATEMENTS.has(tokens[0]?.text ?? '')) return undefined
  const tables: { readonly name: string; readonly end: number }[] = []
  tokens.forEach((token, index) => {
    const brings =
      token.kind === 'word' && (/^(from|join)$/.test(token.text) || (index === 0 && token.text === 'update'))
    for (let at = brings ? index + 1 : -1; at > 0; ) {
      const [name, last] = tableAt(tokens, at)
      if (name === undefined) break
      tables.push({ name, end: tokens[last]?.end ?? 0 })
      at = tokens[last + 1]?.text === ',' ? last + 2 : -1
    }
  })
  if (tables.length === 0) return undefined
  let text = ''
  let from = 0
  for (const { end } of tables) {
    text += `${sql.slice(from, end)} not indexed`
    from = end
  }
  const isList = /\bin \(:/.test(sql)
  return { text: text + sql.slice(from), tables: tables.map(({ name }) => name), isList }
}

/** The table that is named at `at`, and the last token of it, by which it may be given another name. */
function tableAt(tokens: readonly SqlToken[], at: number): readonly [string | undefined, number] {
  const isName = (token: SqlToken | undefined): token is SqlToken =>
    token?.kind === 'name' || (token?.kind === 'word' && !CLAUSES.test(token.text))
  const token = tokens[at]
  const next = tokens[at + 1]
  if (!isName(token) || next?.text === '(' || next?.text === '.') return [undefined, at]
  if (next?.text === 'as') return [token.text, at + 2]
  return [token.text, isName(next) ? at + 1 : at]
}

/** What a store consists of beside the database itself, while it is open. */
const PARTS: readonly string[] = ['', '-wal', '-shm']

/**
 * The files of a SQLite store, held against the directory. An open file goes on when its name is taken away or given
 * to another; what is written to it then is gone with the process.
 */
function storePlace(path: string) {
  const held = new Map<string, string>()
  const look = (part: string): string | undefined => {
    const stat = statSync(path + part, { throwIfNoEntry: false })
    const now = stat === undefined ? undefined : `${stat.dev}:${stat.ino}`
    const known = held.get(part)
    if (known !== undefined && known !== now)
      return now === undefined ? 'was removed' : 'was replaced by another file'
    if (now !== undefined) held.set(part, now)
    return undefined
  }
  const problem = (): string | undefined => {
    for (const part of PARTS) {
      const what = look(part)
      if (what !== undefined) return `${path}${part} ${what} while the service runs`
    }
    return undefined
  }
  problem()
  return {
    /** What is wrong with the directory now, in words; undefined while it holds the files that are open. */
    problem,
    /** Whether the database itself, without what stands beside it, is the one that is open. */
    holdsDatabase: (): boolean => look('') === undefined && held.has(''),
  }
}

interface Prepared {
  readonly statement: SqliteStatement
  readonly names: readonly string[]
}

const NO_PARAMS: SqlParams = {}

/** The two connections of a store file: reads never see what the writer has not committed. */
export interface SqliteConnections {
  readonly write: SqliteConnection
  readonly read: SqliteConnection
}

/**
 * How long a transaction waits for another *process* that writes (a command beside the service), and how often it looks, ms.
 * In between the event loop turns: a disarm must not wait for a lock.
 */
const LOCK_WAIT_MS = 5_000
const LOCK_POLL_MS = 25
/** How long SQLite itself waits at a look, which blocks the event loop, ms. */
const LOCK_LOOK_MS = 5
/** Cache of each connection, KiB (negative is SQLite's sign for KiB). */
const CACHE_KIB = 8_192
/** The WAL file is cut to this after a checkpoint: to what it comes to without large commits. Each start looks through all of it. */
const JOURNAL_LIMIT_BYTES = 6 * 1_048_576

/**
 * Opens (and makes, readable by its owner alone) the store file at `path`: WAL, an fsync for each commit.
 * Throws `store_invalid` when the file is no database or is damaged, `store_unavailable` when it cannot be opened.
 */
export function openSqliteConnections(path: string): SqliteConnections {
  const opened: SqliteConnection[] = []
  try {
    closeSync(openSync(path, 'a', 0o600))
    const write = openSqliteConnection(path, 'write')
    opened.push(write)
    write.pragma('journal_mode = WAL')
    write.pragma('synchronous = FULL')
    write.pragma('foreign_keys = ON')
    write.pragma('recursive_triggers = ON')
    write.pragma('temp_store = MEMORY')
    write.pragma(`cache_size = -${CACHE_KIB}`)
    write.pragma(`journal_size_limit = ${JOURNAL_LIMIT_BYTES}`)
    write.pragma(`busy_timeout = ${LOCK_LOOK_MS}`)
    const read = openSqliteConnection(path, 'read')
    opened.push(read)
    read.pragma(`cache_size = -${CACHE_KIB}`)
    read.prepare('select count(*) from sqlite_schema').get()
    return { write, read }
  } catch (error) {
    for (const connection of opened) connection.close()
    throw openError(path, error)
  }
}

function openError(path: string, error: unknown): unknown {
  const translated = sqliteError(error)
  const code = String((translated as { code?: unknown } | undefined)?.code ?? '')
  if (code === 'store_corrupt')
    return storeInvalid(`${path} is damaged or no database; restore a backup (svc restore)`, { cause: error })
  if (code === 'store_unavailable') return translated
  const reason = messageOf(error)
  return storeInvalid(`${path} cannot be opened (${reason}); check store.url and the data directory`, {
    cause: error,
  })
}

function statementsOf(connection: SqliteConnection, compile: SqlCompiler): StatementCache<Prepared> {
  return new StatementCache((sql) => {
    const { text, names } = compile(sql)
    return { statement: connection.prepare(text), names }
  })
}

/** Reads on one connection. Synchronous underneath: a read costs little more than the binding's own. */
class SqliteReads {
  readonly statements: StatementCache<Prepared>
  readonly #ways: OtherWays
  /** At most so many rows a table has. */
  readonly #rows = (table: string): number => {
    const last = this.#prepared(`select max(rowid) as n from "${table}"`)?.statement.get()
    return Number((last as { readonly n: number | null } | undefined)?.n ?? 0)
  }

  constructor(connection: SqliteConnection, compile: SqlCompiler, ways: OtherWays) {
    this.statements = statementsOf(connection, compile)
    this.#ways = ways
  }

  /**
   * What `ask` gives, by the statement as it stands; asked once more past the indexes where these may have hidden it. Throws what
   * the store throws, translated.
   */
  ask<T>(sql: string, params: SqlParams, ask: Ask<T>, hasFound: (answer: T) => boolean): T {
    try {
      const { statement, names } = this.statements.get(sql)
      const answer = ask(statement, valuesOf<SqlValue>(names, params))
      const other = this.#ways.textFor(sql, hasFound(answer), this.#rows)
      const otherwise = other === undefined ? undefined : this.#prepared(other)
      if (otherwise === undefined) return answer
      const beganMs = performance.now()
      const found = ask(otherwise.statement, valuesOf<SqlValue>(otherwise.names, params))
      this.#ways.spent(performance.now() - beganMs)
      return found
    } catch (error) {
      throw sqliteError(error)
    }
  }

  /** Undefined for what has no such form, such as a table that a function gives. */
  #prepared(sql: string): Prepared | undefined {
    try {
      return this.statements.get(sql)
    } catch {
      return undefined
    }
  }

  async get<Row>(sql: string, params: SqlParams = NO_PARAMS): Promise<Row | undefined> {
    // The caller names the row type; the statement's column list is what it relies on.
    return this.ask(sql, params, GET, isThere) as Row | undefined
  }

  async all<Row>(sql: string, params: SqlParams = NO_PARAMS): Promise<readonly Row[]> {
    // As above.
    return this.ask(sql, params, ALL, hasRows) as Row[]
  }
}

type Ask<T> = (statement: SqliteStatement, values: readonly SqlValue[]) => T
const GET: Ask<unknown> = (statement, values) => statement.get(...values)
const ALL: Ask<unknown[]> = (statement, values) => statement.all(...values)
const RUN: Ask<number> = (statement, values) => statement.run(...values).changes
const isThere = (row: unknown): boolean => row !== undefined
const hasRows = (rows: readonly unknown[]): boolean => rows.length > 0
const hasChanged = (changes: number): boolean => changes > 0

function sqliteWriter(
  connection: SqliteConnection,
  compile: SqlCompiler,
  checkpoints: Checkpoints,
  note: CommitNote,
  ways: OtherWays,
): WriterSession {
  const reads = new SqliteReads(connection, compile, ways)
  const control = (sql: string): (() => Promise<void>) => {
    const statement = connection.prepare(sql)
    return async () => {
      try {
        statement.run()
      } catch (error) {
        throw sqliteError(error)
      }
    }
  }
  const beginning = connection.prepare('begin immediate')
  const begin = async (): Promise<void> => {
    for (let looks = LOCK_WAIT_MS / LOCK_POLL_MS; ; looks -= 1) {
      try {
        beginning.run()
        changed = 0
        return
      } catch (error) {
        if (looks <= 0 || !isLocked(error)) throw sqliteError(error)
        await wait(LOCK_POLL_MS)
      }
    }
  }
  const committing = control('commit')
  const numberOfLast = connection.prepare('pragma user_version')
  /** Gives this commit its number, in the transaction: what was answered can be told from what is there. */
  const numbered = (): number => {
    const { user_version: last } = numberOfLast.get() as { readonly user_version: number } // what the pragma gives
    const number = commitAfter(last)
    try {
      connection.exec(`pragma user_version = ${number}`)
    } catch (error) {
      throw sqliteError(error)
    }
    return number
  }
  /** Rows that this transaction has changed, whether it keeps them or not. */
  let changed = 0
  const rollback = control('rollback')
  const both = (verb: string): Readonly<Record<Savepoint, () => Promise<void>>> => ({
    job: control(`${verb} job`),
    attempt: control(`${verb} attempt`),
  })
  const mark = both('savepoint')
  const release = both('release')
  const undoTo = both('rollback to')
  return {
    failsAsWhole: false,
    isOpen: () => connection.inTransaction,
    get: (sql, params) => reads.get(sql, params),
    all: (sql, params) => reads.all(sql, params),
    begin,
    commit: async () => {
      // One that changes nothing writes nothing, a number least of all.
      const number = changed === 0 ? undefined : numbered()
      await committing()
      if (number !== undefined) note.write(number)
      checkpoints.committed(changed)
    },
    rollback: async () => {
      // What cannot be rolled back now is rolled back by the next opening of the file.
      if (connection.inTransaction) await rollback().catch(() => undefined)
    },
    run: async (sql, params = NO_PARAMS) => {
      const changes = reads.ask(sql, params, RUN, hasChanged)
      changed += changes
      return changes
    },
    mark: (savepoint) => mark[savepoint](),
    release: (savepoint) => release[savepoint](),
    undoTo: (savepoint) => undoTo[savepoint](),
  }
}

function isLocked(error: unknown): boolean {
  return error instanceof Error && String(Reflect.get(error, 'code')).startsWith('SQLITE_BUSY')
}

/** The SQLite dialect over two open connections, which it closes. */
export function sqliteBackend(path: string, connections: SqliteConnections): Backend {
  const compile = sqlCompiler('sqlite')
  const place = storePlace(path)
  const note = commitNote(path)
  const ways = new OtherWays()
  const checkpoints = sqliteCheckpoints({
    write: connections.write,
    path,
    isThere: () => place.problem() === undefined,
  })
  return {
    dialect: 'sqlite',
    lost: () => {
      const problem = place.problem()
      return problem === undefined ? undefined : `${problem}; ${whatNow(connections.write, path, place)}`
    },
    reader: new SqliteReads(connections.read, compile, ways),
    writer: sqliteWriter(connections.write, compile, checkpoints, note, ways),
    fileProblems: (signal) => problemsOf(path, signal, ways),
    mayMissRows: () => ways.isDamaged,
    copyTo: (target, signal) => copySqlite(path, target, signal),
    close: async () => {
      await checkpoints.close()
      connections.read.close()
      connections.write.close()
      note.close()
    },
  }
}

/** What the file's own check finds; reads go by it from then on. */
async function problemsOf(path: string, signal: AbortSignal, ways: OtherWays): Promise<readonly string[]> {
  try {
    const problems = await sqliteFileProblems(path, signal)
    ways.checked(problems)
    return problems.map(({ table, reason }) => `${table}: ${reason}`)
  } catch (error) {
    // Given up, it says nothing of the file.
    if (!signal.aborted) ways.checked(undefined)
    throw error
  }
}

/** As long as the database itself is there, what was answered is taken into it. What to do, in words. */
function whatNow(write: SqliteConnection, path: string, place: ReturnType<typeof storePlace>): string {
  if (!place.holdsDatabase())
    return `no change is taken; stop the service, put ${path} back or restore a backup, and start it`
  // The next look does.
  if (write.inTransaction)
    return `no change is taken; do not restart the service yet: what was answered is still to be taken into ${path}`
  if (isCheckpointed(write))
    return `all that was answered is in ${path} now, and no change is taken; restart the service`
  return 'no change is taken; make sure that the disk has space, then restart the service'
}

function isCheckpointed(write: SqliteConnection): boolean {
  try {
    // One row: busy, frames, frames taken over.
    const rows = write.pragma('wal_checkpoint(TRUNCATE)') as readonly { readonly busy: number }[]
    return rows[0]?.busy === 0
  } catch {
    return false
  }
}
