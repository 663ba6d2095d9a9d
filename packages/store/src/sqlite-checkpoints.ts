import { createRequire } from 'node:module'
import type { SqliteConnection } from './sqlite-binding.ts'
import { SQLITE_PACKAGE } from './sqlite-program.ts'

/** A commit that changes as many rows is one of many: of an import, of a mass change. */
const LARGE_ROWS = 200
/** What such commits change, one soon after the other, before it is worth a thread: that takes some 20 ms to begin with. */
const WORTH_ROWS = 3_000
/** Rows that are changed between two passes: at most some thousand pages. */
const PASS_ROWS = 1_000
/** Without a large commit for so long the thread is ended, and its memory given back, ms. */
const REST_MS = 5_000
/** Frames of the WAL at which the writer takes them into the database itself: SQLite's own default, and beside a thread. */
const FRAMES_ALONE = 1_000
const FRAMES_BESIDE = 4_000

/** Makes a pass when it is told to, says when it is over, and ends when it is told to. */
const THREAD = `
const { parentPort, workerData } = require('node:worker_threads')
const Connection = require(workerData.binding)
const connection = new Connection(workerData.path, { fileMustExist: true, timeout: 0 })
connection.pragma('synchronous = FULL')
parentPort.on('message', (what) => {
  if (what === 'pass') {
    connection.pragma('wal_checkpoint(PASSIVE)')
    parentPort.postMessage('over')
    return
  }
  connection.close()
  parentPort.close()
})
parentPort.postMessage('over')
`
const THREAD_LIMITS = { maxYoungGenerationSizeMb: 1, maxOldGenerationSizeMb: 16 }

/** Takes what large commits leave in the WAL into the database file, beside the service's own thread. */
export interface Checkpoints {
  /** A commit has changed so many rows. */
  committed(rows: number): void
  /** Ends what is under way. Idempotent. */
  close(): Promise<void>
}

export interface CheckpointsOf {
  readonly write: SqliteConnection
  readonly path: string
  /** Whether the files of the directory are those that are open: otherwise no thread may open them. */
  isThere(): boolean
  readonly restMs?: number
}

/**
 * Checkpoints while much is written, in a thread with a connection of its own, which holds up neither readers nor the
 * writer: they are two syncs and a thousand pages each, a seventh of the processor time of an import. What the thread does not
 * manage, or fails to do, the writer does as ever, only later: meanwhile the WAL may be four times as long. What makes it safe
 * is SQLite's own: it syncs the WAL before it writes a page to the database, and the database before it counts a page
 * as taken over. A change is durable with its commit, as it is without.
 */
export function sqliteCheckpoints(of: CheckpointsOf): Checkpoints {
  let thread: ReturnType<typeof startThread> | undefined
  let recentRows = 0
  let waitingRows = 0
  let isUseless = false
  let ended: Promise<unknown> = Promise.resolve()
  const end = (): void => {
    if (thread === undefined) return
    of.write.pragma(`wal_autocheckpoint = ${FRAMES_ALONE}`)
    ended = Promise.all([ended, thread.end()])
    thread = undefined
  }
  const begin = (): void => {
    thread = startThread(of.path, () => {
      isUseless = true
    })
    of.write.pragma(`wal_autocheckpoint = ${FRAMES_BESIDE}`)
  }
  const looking = setInterval(() => {
    if (recentRows === 0) end()
    recentRows = 0
  }, of.restMs ?? REST_MS).unref()
  return {
    committed: (rows) => {
      if (isUseless) end()
      if (rows < LARGE_ROWS || isUseless) return
      recentRows += rows
      waitingRows += rows
      if (recentRows < WORTH_ROWS && thread === undefined) return
      if (waitingRows < PASS_ROWS || !of.isThere()) return
      if (thread === undefined) begin()
      if (thread?.pass() === true) waitingRows = 0
    },
    close: async () => {
      isUseless = true
      clearInterval(looking)
      end()
      await ended
    },
  }
}

function startThread(path: string, onFailure: () => void) {
  const binding = createRequire(import.meta.url).resolve(SQLITE_PACKAGE)
  // 2 MiB, for a service that may never need a thread.
  const { Worker } = process.getBuiltinModule('node:worker_threads')
  const worker = new Worker(THREAD, {
    eval: true,
    workerData: { binding, path },
    env: {},
    execArgv: [],
    resourceLimits: THREAD_LIMITS,
  })
  worker.unref()
  let isBusy = true
  worker.on('message', () => {
    isBusy = false
  })
  // Such as a disk without space: the writer says so where it matters.
  worker.on('error', onFailure)
  const exit = new Promise<void>((resolve) => worker.once('exit', () => resolve()))
  return {
    /** Begins a pass; false while one is under way. */
    pass: (): boolean => {
      if (isBusy) return false
      isBusy = true
      worker.postMessage('pass')
      return true
    },
    /** Resolves when it has ended by itself: amid a pass nobody can end it without taking the service with it. */
    end: async (): Promise<void> => {
      worker.ref()
      worker.postMessage('end')
      await exit
    },
  }
}
