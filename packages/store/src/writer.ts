import { setImmediate as nextTurn, setTimeout as wait } from 'node:timers/promises'
import {
  createPause,
  type Db,
  isServiceError,
  type Log,
  type Reader,
  type SqlParams,
  storeUnavailable,
  type Tx,
} from '@steeple/contracts'
import type { CommitGroup, Database, WriterSession, WriterTx } from './database.ts'
import { checkScope } from './scope.ts'

/** Texts remembered as allowed; a plugin has some dozens. */
const MOST_TEXTS = 1_000

/** Checks each text once: gives it back when its tables are the owner's, throws otherwise. */
export type SqlGuard = (sql: string) => string

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
class JobTx implements WriterTx {
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

/** A commit that takes as long is worth a wait for those who will want the next one, ms. */
const LONG_COMMIT_MS = 4
/** Such a wait, ms. */
const GATHER_MS = 1
/** After waits for nobody it goes without, for at most two to the power of this many commits. */
const MOST_MISSES = 6

/** Has jobs share a commit that would otherwise take turns. */
export interface Gathering {
  /** A wait before the next group, given what is asked for how many jobs are there; undefined when none is worth it. */
  more(jobs: () => number): Promise<void> | undefined
  /** How the last group went. */
  committed(jobs: number, commitMs: number): void
}

/**
 * Clients that are answered together ask again together, while the commit of the others is under way: so two halves of them take
 * turns, each with a commit of its own. On a disk that is slow to sync, a wait of a quarter of that at most joins them. One client
 * alone never waits, and where waiting brings nobody it is tried ever more seldom.
 */
export function createGathering(): Gathering {
  let isWorthIt = false
  let misses = 0
  let without = 0
  const gather = async (jobs: () => number): Promise<void> => {
    const before = jobs()
    await wait(GATHER_MS)
    misses = jobs() > before ? 0 : Math.min(misses + 1, MOST_MISSES)
    without = misses === 0 ? 0 : 2 ** misses
  }
  return {
    more: (jobs) => {
      if (!isWorthIt) return undefined
      without -= 1
      return without >= 0 ? undefined : gather(jobs)
    },
    committed: (jobs, commitMs) => {
      isWorthIt = jobs > 1 && commitMs >= LONG_COMMIT_MS
    },
  }
}

/** The steps that the jobs of one commit have asked for. */
class PendingGroup implements CommitGroup {
  readonly #steps: ((tx: Tx) => Promise<void>)[] = []

  beforeCommit(step: (tx: Tx) => Promise<void>): void {
    this.#steps.push(step)
  }

  /** Runs the steps in the order they were asked for. */
  async finish(tx: Tx): Promise<void> {
    for (const step of this.#steps) await step(tx)
  }
}

/** Jobs that share a commit at most: bounds what one failing commit takes with it and how long the loop is busy. */
const MOST_JOBS_PER_COMMIT = 256

interface Entry {
  readonly job: (tx: WriterTx) => Promise<unknown>
  readonly limitMs: number | undefined
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

/** A job that awaits something outside the store holds all other writers; after this it is undone. */
const JOB_LIMIT_MS = 5_000

/** How one job of a group ended, told to its caller after the commit. */
interface Ended {
  readonly entry: Entry
  readonly tx: JobTx
  readonly result:
    | { readonly value: unknown; readonly after: readonly (() => void)[] }
    | { readonly error: unknown }
}

/** The one writer: takes what is waiting, runs it job by job in one transaction, commits, answers. */
export interface Writer {
  /** See `Database.transact`. `limitMs` replaces the 5 s (migrations); such a job has a commit of its own. */
  transact<T>(job: (tx: WriterTx) => Promise<T>, limitMs?: number): Promise<T>
  /** Why the newest commit failed; undefined once one has held again. */
  trouble(): string | undefined
  /** Commits that failed since the start, and why the newest of them did. */
  failures(): { readonly count: number; readonly last: string | undefined }
  /** Refuses new jobs and resolves when those that wait are done. */
  close(): Promise<void>
}

/**
 * Starts the writer over a session that nobody else uses (docs/adr/0004-group-commit-writer.md). `lost` says why what
 * is written is not durable: asked before a group and before its answers.
 */
export function createWriter(
  session: WriterSession,
  log: Log,
  lost: () => string | undefined = () => undefined,
): Writer {
  const queue: Entry[] = []
  const gathering = createGathering()
  let draining: Promise<void> | undefined
  let isClosed = false
  let trouble: string | undefined
  let failures: { readonly count: number; readonly last: string | undefined } = { count: 0, last: undefined }

  async function drain(): Promise<void> {
    while (queue.length > 0) {
      // Requests that arrive in the same turn of the event loop share the commit.
      await nextTurn()
      await gathering.more(() => queue.length)
      await commitGroup(takeGroup(queue))
    }
    draining = undefined
  }

  async function commitGroup(entries: readonly Entry[]): Promise<void> {
    const ended: Ended[] = []
    try {
      refuseLost('nothing was changed')
      await runAll(session, entries, ended)
      await commitTimed(session, gathering, entries.length)
      refuseLost('whether this change holds is not known')
    } catch (error) {
      await session.rollback()
      failAll(entries, ended, commitError(error))
      return
    }
    if (trouble !== undefined) log.info({}, 'the store takes writes again')
    trouble = undefined
    for (const { entry, result } of ended) settle(entry, result, log)
  }

  function refuseLost(whatNow: string): void {
    const reason = lost()
    if (reason !== undefined) throw storeUnavailable(`${reason}; ${whatNow}`)
  }

  function failAll(
    entries: readonly Entry[],
    ended: readonly Ended[],
    reason: Error & { code: string },
  ): void {
    for (const { tx } of ended.toReversed()) tx.forget()
    if (trouble === undefined)
      log.error({ code: reason.code, reason: reason.message }, 'the store does not take writes')
    trouble = reason.message
    failures = { count: failures.count + 1, last: reason.message }
    for (const entry of entries) entry.reject(reason)
  }

  return {
    transact: <T>(job: (tx: WriterTx) => Promise<T>, limitMs?: number) => {
      if (isClosed) return Promise.reject(storeUnavailable('the service is stopping'))
      return new Promise<T>((resolve, reject) => {
        // The queue holds jobs of all types; the value of this job goes to this promise alone.
        queue.push({ job, limitMs, resolve: resolve as (value: unknown) => void, reject })
        draining ??= drain()
      })
    },
    trouble: () => trouble,
    failures: () => failures,
    close: async () => {
      isClosed = true
      await draining
    },
  }
}

async function commitTimed(session: WriterSession, gathering: Gathering, jobs: number): Promise<void> {
  const begunMs = performance.now()
  await session.commit()
  gathering.committed(jobs, performance.now() - begunMs)
}

/** Runs the jobs up to the commit; `ended` grows as they end. */
async function runAll(session: WriterSession, entries: readonly Entry[], ended: Ended[]): Promise<void> {
  const group = new PendingGroup()
  // Readers see the state before, on a connection of their own, and go on meanwhile.
  const pause = createPause()
  await session.begin(entries[0]?.limitMs)
  for (const entry of entries) {
    const tx = new JobTx(session, group)
    ended.push({ entry, tx, result: await runJob(entry, tx) })
    if (!session.isOpen()) throw lostTransaction(ended.at(-1))
    await pause()
  }
  await group.finish(groupTx(session))
}

async function runJob({ job, limitMs = JOB_LIMIT_MS }: Entry, tx: JobTx): Promise<Ended['result']> {
  const late = Promise.withResolvers<never>()
  // Nobody waits for it while a job that threw at once is undone.
  late.promise.catch(() => undefined)
  const timer = setTimeout(() => {
    late.reject(storeUnavailable(`a transaction was not over after ${limitMs} ms and was undone; try again`))
  }, limitMs)
  try {
    const value = await Promise.race([job(tx), late.promise])
    return { value, after: await tx.keep() }
  } catch (error) {
    await tx.discard()
    return { error }
  } finally {
    clearTimeout(timer)
  }
}

function settle(entry: Entry, result: Ended['result'], log: Log): void {
  if ('error' in result) {
    entry.reject(result.error)
    return
  }
  for (const step of result.after) {
    try {
      step()
    } catch (error) {
      log.error({ err: error }, 'a step after a commit failed')
    }
  }
  entry.resolve(result.value)
}

/** A job with a limit of its own has a commit of its own: it would hold up the others. */
function takeGroup(queue: Entry[]): readonly Entry[] {
  const own = queue.findIndex((entry) => entry.limitMs !== undefined)
  const length = own < 0 ? MOST_JOBS_PER_COMMIT : Math.max(1, own)
  return queue.splice(0, Math.min(length, MOST_JOBS_PER_COMMIT))
}

/** The store has ended the transaction by itself; the error of the job that saw it says why. */
function lostTransaction(last: Ended | undefined): unknown {
  const error = last !== undefined && 'error' in last.result ? last.result.error : undefined
  return isServiceError(error)
    ? error
    : storeUnavailable('the transaction was lost; try again', { cause: error })
}

function commitError(error: unknown): Error & { code: string } {
  if (isServiceError(error) && error.status >= 500) return error
  return storeUnavailable('the commit failed and nothing of it was kept; try again', { cause: error })
}

/** The transaction as the steps before the commit see it: without savepoint. */
function groupTx(session: WriterSession): Tx {
  return {
    get: (sql, params) => session.get(sql, params),
    all: (sql, params) => session.all(sql, params),
    run: (sql, params) => session.run(sql, params),
    afterCommit: () => {
      throw new Error('too late for steps after the commit')
    },
  }
}
