import { type Db, type Reader, type SqlParams, storeUnavailable, type Tx } from '@steeple/contracts'
import type { WriterSession } from './backend.ts'
import type { CommitGroup, Database, WriterTx } from './database.ts'
import { checkScope } from './scope.ts'

/** Texts remembered as allowed; a plugin has some dozens. */
const MOST_TEXTS = 1_000

/** Checks each text once: gives it back when its tables are the owner's, throws otherwise. */
export type SqlGuard = (sql: string) => string

/** The guard of an owner. */
export function sqlGuard(owner: string): SqlGuard {
  const allowed = new Set<string>()
  return (sql) => {
    if (allowed.has(sql)) return sql
    checkScope(owner, sql)
    if (allowed.size >= MOST_TEXTS) allowed.clear()
    allowed.add(sql)
    return sql
  }
}

/** What the store gives for an allowed text, as it gives it: each promise around a promise costs a statement three more ticks. */
function guarded<T>(guard: SqlGuard, sql: string, ask: (sql: string) => Promise<T>): Promise<T> {
  try {
    return ask(guard(sql))
  } catch (error) {
    return Promise.reject(error)
  }
}

const WHOLE: unique symbol = Symbol('the transaction without limits')

interface LimitedTx extends Tx {
  readonly [WHOLE]: Tx
}

/** The transaction limited to the tables that `guard` allows. One that is limited already is limited anew. */
export function limitedTx(tx: Tx, guard: SqlGuard): Tx {
  const whole = WHOLE in tx ? (tx as LimitedTx)[WHOLE] : tx
  const limited: LimitedTx = {
    [WHOLE]: whole,
    get: (sql, params) => guarded(guard, sql, (allowed) => whole.get(allowed, params)),
    all: (sql, params) => guarded(guard, sql, (allowed) => whole.all(allowed, params)),
    run: (sql, params) => guarded(guard, sql, (allowed) => whole.run(allowed, params)),
    afterCommit: (step) => whole.afterCommit(step),
  }
  return limited
}

/** The handle of `owner` on its own tables (see `Db`). */
export function scopedDb(
  owner: string,
  reader: Reader,
  database: Pick<Database, 'dialect'> & { transact<T>(job: (tx: WriterTx) => Promise<T>): Promise<T> },
): Db {
  const guard = sqlGuard(owner)
  return {
    dialect: database.dialect,
    get: <Row>(sql: string, params?: SqlParams) =>
      guarded(guard, sql, (allowed) => reader.get<Row>(allowed, params)),
    all: <Row>(sql: string, params?: SqlParams) =>
      guarded(guard, sql, (allowed) => reader.all<Row>(allowed, params)),
    write: (work) => database.transact((tx) => work(limitedTx(tx, guard))),
    // What a mutation may say besides stays as it is.
    join: (tx) => ({ ...tx, ...limitedTx(tx, guard) }),
  }
}

/**
 * One job's view of the writer.
 *
 * Its savepoint is made by the first statement that could need undoing, so a job that changes nothing costs nothing.
 */
export class JobTx implements WriterTx {
  readonly group: CommitGroup
  readonly #session: WriterSession
  readonly #after: (() => void)[] = []
  readonly #undo: (() => void)[] = []
  #isMarked = false
  #isOver = false

  constructor(session: WriterSession, group: CommitGroup) {
    this.#session = session
    this.group = group
  }

  get<Row>(sql: string, params?: SqlParams): Promise<Row | undefined> {
    return this.#begun(this.#session.failsAsWhole, () => this.#session.get<Row>(sql, params))
  }

  all<Row>(sql: string, params?: SqlParams): Promise<readonly Row[]> {
    return this.#begun(this.#session.failsAsWhole, () => this.#session.all<Row>(sql, params))
  }

  run(sql: string, params?: SqlParams): Promise<number> {
    return this.#begun(true, () => this.#session.run(sql, params))
  }

  afterCommit(step: () => void): void {
    this.#assertOpen()
    this.#after.push(step)
  }

  onUndo(step: () => void): void {
    this.#assertOpen()
    this.#undo.push(step)
  }

  async attempt<T>(work: () => Promise<T>): Promise<T> {
    this.#assertOpen()
    const isNested = this.#isMarked
    const afterLength = this.#after.length
    const undoLength = this.#undo.length
    if (isNested) await this.#session.mark('attempt')
    try {
      const result = await work()
      this.#assertOpen()
      if (isNested) await this.#session.release('attempt')
      return result
    } catch (error) {
      this.#assertOpen(error)
      this.#after.length = afterLength
      this.#undoSince(undoLength)
      await this.#undoAttempt(isNested)
      throw error
    }
  }

  /** Ends the job and keeps its changes; gives the steps for after the commit. */
  async keep(): Promise<readonly (() => void)[]> {
    this.#isOver = true
    if (this.#isMarked) await this.#session.release('job')
    return this.#after
  }

  /** Ends the job and undoes its changes. Does nothing in the store when that has ended the transaction itself. */
  async discard(): Promise<void> {
    this.#isOver = true
    this.#undoSince(0)
    if (!this.#isMarked || !this.#session.isOpen()) return
    await this.#session.undoTo('job')
    await this.#session.release('job')
  }

  /** Runs the undo steps of a job that was kept, when its commit has failed. */
  forget(): void {
    this.#undoSince(0)
  }

  async #undoAttempt(isNested: boolean): Promise<void> {
    if (!this.#session.isOpen()) return
    if (isNested) {
      await this.#session.undoTo('attempt')
      await this.#session.release('attempt')
    } else if (this.#isMarked) await this.#session.undoTo('job')
  }

  /** The statement, behind the savepoint where it needs one. Most are the statement alone: no promise is made around it. */
  #begun<T>(needsMark: boolean, statement: () => Promise<T>): Promise<T> {
    try {
      this.#assertOpen()
    } catch (error) {
      return Promise.reject(error)
    }
    return needsMark && !this.#isMarked ? this.#mark().then(statement) : statement()
  }

  #mark(): Promise<void> {
    this.#isMarked = true
    return this.#session.mark('job')
  }

  #undoSince(length: number): void {
    for (const step of this.#undo.splice(length).reverse()) step()
  }

  #assertOpen(cause?: unknown): void {
    if (this.#isOver) throw new Error('the transaction is over', { cause })
    // After that the store would run each statement in a transaction of its own.
    if (!this.#session.isOpen()) throw storeUnavailable('the transaction was lost; try again', { cause })
  }
}
