import type { Db, Migration, Reader, SqlParams, TableSpec, Tx } from '@steeple/contracts'
import type { StoreCopy } from './sqlite-program.ts'

/** What the jobs of one commit share. */
export interface CommitGroup {
  /**
   * Runs `step` once just before the commit, whichever job asked, even when that job was undone later. When it throws,
   * nothing of the group is kept.
   */
  beforeCommit(step: (tx: Tx) => Promise<void>): void
}

/** The transaction of a job in the writer. It may name every table. */
export interface WriterTx extends Tx {
  readonly group: CommitGroup
  /**
   * Runs `work` so that, when it throws, its own changes alone are undone and the job may go on. Not nested, not two
   * at a time. Rejects with what `work` throws.
   */
  attempt<T>(work: () => Promise<T>): Promise<T>
  /** Runs `step` (at once, newest first) when the changes made since are undone: for memory that mirrors rows. */
  onUndo(step: () => void): void
}

/** A migration of the kernel may do what DDL cannot: `finish` runs behind its steps, in their transaction. */
export interface StoreMigration extends Migration {
  readonly finish?: (tx: WriterTx) => Promise<void>
}

/** A connection of its own, for what can wait neither for the writer nor for a long read. PostgreSQL alone has it. */
export interface SideConnection {
  /** Runs one statement in a transaction of its own; answers, or fails, within 4 s. Throws `store_unavailable`. */
  all<Row>(sql: string, params?: SqlParams): Promise<readonly Row[]>
  /**
   * Calls `heard` at each `NOTIFY` on the channel, also after the connection was lost and made again. Rejects where the
   * server has no such thing. What is said while there is no connection is not heard.
   */
  listen(channel: string, heard: () => void): Promise<void>
  close(): Promise<void>
}

/** The store of the service: one writer with group commit, readers beside it, SQLite or PostgreSQL. */
export interface Database extends Reader {
  readonly dialect: 'sqlite' | 'postgres'
  /** Undefined on SQLite: nobody else shares the file. */
  readonly side: SideConnection | undefined
  /**
   * Runs `job` in the one writer. Jobs that are waiting share a commit; each has its own savepoint, so one that
   * throws undoes its own changes alone and rejects with its own error. Resolves after the commit is durable.
   * Throws `store_unavailable` when the commit fails (disk full, database away); then nothing of the group holds.
   * A job that takes longer than 5 s (it waits for something outside the store) is undone with `store_unavailable`. One
   * with a `limitMs` of its own may take that long, and has a commit of its own.
   */
  transact<T>(job: (tx: WriterTx) => Promise<T>, limitMs?: number): Promise<T>
  /**
   * Brings the tables of `owner` (`kernel` or a plugin id) up; `migrations` is its whole list, `tables` those whose rows
   * carry sums. Throws `store_invalid` for a database that is newer than the code, for a plugin's step that is not
   * additive or not on its own tables, and for columns that are not those of before with new ones behind them.
   * A plugin's `finish` is not run.
   */
  migrate(owner: string, migrations: readonly StoreMigration[], tables?: readonly TableSpec[]): Promise<void>
  /**
   * Says that a version of `owner` runs which is older than its tables: its `tables` learn what the rows of the newer one
   * look like, and the newer one's steps over rows look at all rows again when it is back.
   */
  fallBack(owner: string, tables: readonly TableSpec[]): Promise<void>
  /** A handle limited to tables `<owner_>*`. */
  scoped(owner: string): Db
  /**
   * Problems of the database's own structure (SQLite's integrity check, beside the service), each with its table; empty when sound. Until the first
   * look, and in the tables that it finds damaged, a row that no index finds is looked for without one.
   */
  fileProblems(signal: AbortSignal): Promise<readonly string[]>
  /** Whether the last look at the structure found it damaged: that a row is not found does not say that it is not there. */
  mayMissRows(): boolean
  /**
   * Writes all there is at one moment as a SQLite file, whatever the engine; `target` must not exist. Reads and writes go on
   * meanwhile. Gives what is in it. Rejects with `store_unavailable` (no room, away) or what the abort says.
   */
  copyTo(target: string, signal: AbortSignal): Promise<StoreCopy>
  /** Whether the store answers a read now; the reason when not. */
  probe(): Promise<string | undefined>
  /** Why writes fail now, as the newest of them found; undefined when it held. Asks nothing of the store. */
  writeTrouble(): string | undefined
  /** Commits that failed since the start, and why the newest of them did. Asks nothing of the store. */
  writeFailures(): { readonly count: number; readonly last: string | undefined }
  /** Finishes what waits, then closes. Idempotent. */
  close(): Promise<void>
}

/** The one connection that writes. Every promise settles in bounded time. Errors are translated already. */
export interface WriterSession extends Reader {
  /** A failed statement makes the rest of the transaction useless, so reads need a savepoint before them too. */
  readonly failsAsWhole: boolean
  /** Whether a transaction is open: false when the store ended it by itself (disk full, connection lost). */
  isOpen(): boolean
  /** `limitMs`: what a single statement may take, when longer than usual. */
  begin(limitMs?: number): Promise<void>
  commit(): Promise<void>
  /** Ends an open transaction; does nothing without one. Never rejects. */
  rollback(): Promise<void>
  run(sql: string, params?: SqlParams): Promise<number>
  mark(savepoint: Savepoint): Promise<void>
  release(savepoint: Savepoint): Promise<void>
  /** Back to the savepoint, which stays. */
  undoTo(savepoint: Savepoint): Promise<void>
}

/** The two savepoints that nest: one for each job, one for an attempt inside it. */
export type Savepoint = 'job' | 'attempt'

/** What a dialect brings: reads of committed rows and the writer's session. */
export interface Backend {
  readonly dialect: 'sqlite' | 'postgres'
  readonly reader: Reader
  readonly writer: WriterSession
  readonly side?: SideConnection
  /** Why what is written is not durable: files that are open are not those of the directory. Undefined while all is well. */
  lost(): string | undefined
  /** Problems of the database's own structure; empty when sound or when the server watches it itself. */
  fileProblems(signal: AbortSignal): Promise<readonly string[]>
  /** See `Database.mayMissRows`. */
  mayMissRows(): boolean
  /** See `Database.copyTo`. */
  copyTo(target: string, signal: AbortSignal): Promise<StoreCopy>
  close(): Promise<void>
}
