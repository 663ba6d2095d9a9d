import { isServiceError, storeCorrupt, storeUnavailable, validationFailed } from '@steeple/contracts'

/** What a broken constraint was about. */
type ConstraintKind = 'unique' | 'not_null' | 'foreign_key' | 'check' | 'other'

/**
 * A statement that a constraint of its table refused. Prefer `on conflict … do nothing` and the count of rows: on
 * PostgreSQL nothing but the end of the transaction works after this error. Test it by `constraint`.
 */
class ConstraintError extends Error {
  readonly constraint: ConstraintKind

  constructor(constraint: ConstraintKind, cause: unknown) {
    super(`a ${constraint} constraint refused the row`, { cause })
    this.name = 'ConstraintError'
    this.constraint = constraint
  }
}

/** The constraint that refused a row, when that is what the error says. */
export function brokenConstraint(error: unknown): ConstraintKind | undefined {
  return error instanceof Error ? (error as Partial<ConstraintError>).constraint : undefined
}

const SQLITE_CONSTRAINTS: Readonly<Record<string, ConstraintKind>> = {
  SQLITE_CONSTRAINT_UNIQUE: 'unique',
  SQLITE_CONSTRAINT_PRIMARYKEY: 'unique',
  SQLITE_CONSTRAINT_ROWID: 'unique',
  SQLITE_CONSTRAINT_NOTNULL: 'not_null',
  SQLITE_CONSTRAINT_FOREIGNKEY: 'foreign_key',
  SQLITE_CONSTRAINT_CHECK: 'check',
}

/** What is said of a write for which the disk has no room. */
export const DISK_IS_FULL = 'the disk is full; free some space, writing goes on by itself'

/** Result codes of SQLite (without their extension) that end when their cause ends, and what to do about it. */
const SQLITE_UNAVAILABLE: Readonly<Record<string, string>> = {
  SQLITE_FULL: DISK_IS_FULL,
  SQLITE_IOERR: 'the disk reports an error; look at the kernel log and the free space of the data directory',
  SQLITE_READONLY: 'the database is read-only; check the mount and the owner of the data directory',
  SQLITE_CANTOPEN: 'the database file cannot be opened; check the data directory and its permissions',
  SQLITE_BUSY: 'another process is writing to the database; end it or try again',
  SQLITE_LOCKED: 'the database is locked; try again',
  SQLITE_NOMEM: 'the system is out of memory',
  SQLITE_PROTOCOL: 'the database is locked by another process; end it or try again',
}

/**
 * What SQLite says of a statement when the tables are not those that the migrations made: our statements name what these
 * made, so the schema was damaged or changed by hand.
 */
const OTHER_SCHEMA =
  /^(no such (table|column|index|function)\b|wrong number of arguments to function|(table|index|trigger) \S+ already exists|table \S+ has (no column named|\d+ columns)|ON CONFLICT clause does not match|foreign key mismatch)/

/**
 * Whether an error says that a statement does not fit the tables: for who asks for what a migration may not have made
 * so far. On PostgreSQL such an error is none of the service.
 */
export function isOtherSchema(error: unknown): boolean {
  const { cause } = error as { readonly cause?: unknown }
  return cause instanceof Error && OTHER_SCHEMA.test(cause.message)
}

const CLOSED_CONNECTION = /^The database connection is not open$/

/** Translates an error of the SQLite binding; what it does not know stays as it is. */
export function sqliteError(error: unknown): unknown {
  if (isServiceError(error) || !(error instanceof Error)) return error
  const code = String((error as { code?: unknown }).code ?? '')
  if (code.startsWith('SQLITE_CONSTRAINT'))
    return new ConstraintError(SQLITE_CONSTRAINTS[code] ?? 'other', error)
  const primary = code.split('_').slice(0, 2).join('_')
  if (primary === 'SQLITE_CORRUPT' || primary === 'SQLITE_NOTADB')
    return storeCorrupt('the database file', { cause: error })
  if (primary === 'SQLITE_ERROR' && OTHER_SCHEMA.test(error.message))
    return storeCorrupt(`the database's schema (${error.message})`, { cause: error })
  if (CLOSED_CONNECTION.test(error.message)) return storeUnavailable('the store is closed', { cause: error })
  const remedy = SQLITE_UNAVAILABLE[primary]
  return remedy === undefined ? error : storeUnavailable(remedy, { cause: error })
}

/** SQLSTATE (or its class) of PostgreSQL, https://www.postgresql.org/docs/15/errcodes-appendix.html */
const POSTGRES_CONSTRAINTS: Readonly<Record<string, ConstraintKind>> = {
  '23505': 'unique',
  '23502': 'not_null',
  '23503': 'foreign_key',
  '23514': 'check',
}
const POSTGRES_UNAVAILABLE: Readonly<Record<string, string>> = {
  '08': 'the connection to the database is broken; it is made again by itself',
  '25': 'the database is read-only now; is it a standby?',
  '40': 'another transaction came first; try again',
  '28': 'the database refuses the login; check the user and password of store.url',
  '3D': 'the database of store.url does not exist; create it',
  '53': 'the database has no resources left (disk, memory or connections); its log says which',
  '55': 'a lock was not free in time; try again',
  '57': 'the database ended the statement or is shutting down; try again',
  '58': 'the database reports an error of its system; look at its log',
}
/** Damaged data: XX001 data_corrupted, XX002 index_corrupted. */
const POSTGRES_CORRUPT = new Set(['XX001', 'XX002'])

/** character_not_in_repertoire: PostgreSQL's text cannot hold U+0000. */
const POSTGRES_BAD_TEXT = '22021'

/** Translates an error of the PostgreSQL client; an error without SQLSTATE is one of the connection. */
export function postgresError(error: unknown): unknown {
  if (isServiceError(error) || !(error instanceof Error)) return error
  const code = String((error as { code?: unknown }).code ?? '')
  if (POSTGRES_CORRUPT.has(code)) return storeCorrupt('the database', { cause: error })
  if (code.startsWith('23')) return new ConstraintError(POSTGRES_CONSTRAINTS[code] ?? 'other', error)
  if (code === POSTGRES_BAD_TEXT)
    return validationFailed('a text holds U+0000, which cannot be stored; remove it', { cause: error })
  if (isConnectionError(error))
    return storeUnavailable('the database does not answer; it is asked again by itself', { cause: error })
  const remedy = POSTGRES_UNAVAILABLE[code.slice(0, 2)]
  return remedy === undefined ? error : storeUnavailable(remedy, { cause: error })
}

const CONNECTION_WORDS =
  /terminated|timeout|ended|not queryable|closed|ECONN|EPIPE|ENOTFOUND|EAI_|EHOSTUNREACH|ETIMEDOUT|ENOENT/i

/** SQLSTATE 25006: a former primary, which will not be one again soon; 25P03: the server has ended the session. */
const OF_NO_USE: ReadonlySet<string> = new Set(['25006', '25P03'])

/** Whether the error comes from the wire and not from the server: then the connection is of no more use. */
export function isConnectionError(error: Error): boolean {
  const code = String((error as { code?: unknown }).code ?? '')
  const isSqlState = /^[0-9A-Z]{5}$/.test(code)
  if (isSqlState && !code.startsWith('E'))
    return code.startsWith('08') || code.startsWith('57P0') || OF_NO_USE.has(code)
  return CONNECTION_WORDS.test(`${code} ${error.message}`)
}
