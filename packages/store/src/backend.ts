import type { Reader, SqlParams } from '@steeple/contracts'
import type { SideConnection } from './database.ts'
import type { StoreCopy } from './sqlite-copy.ts'

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
