import type { Db, Migration, Reader, Tx } from '@steeple/contracts'

/** The store of the service: one writer with group commit, readers beside it, SQLite or PostgreSQL. */
export interface Database extends Reader {
  readonly dialect: 'sqlite' | 'postgres'
  /**
   * Runs `job` in the one writer. Jobs that are waiting share a commit; each has its own savepoint, so one that
   * throws undoes its own changes alone and rejects with its own error. Resolves after the commit is durable.
   * Throws `store_unavailable` when the commit fails (disk full, database away); then nothing of the group holds.
   */
  transact<T>(job: (tx: Tx) => Promise<T>): Promise<T>
  /** Brings the tables of `owner` (`kernel` or a plugin id) up. Refuses a database that is newer than the code. */
  migrate(owner: string, migrations: readonly Migration[]): Promise<void>
  /** A handle limited to tables `<owner_>*`. */
  scoped(owner: string): Db
  /** Whether the store answers a read now; the reason when not. */
  probe(): Promise<string | undefined>
  close(): Promise<void>
}
