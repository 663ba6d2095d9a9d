import { Worker } from 'node:worker_threads'
import { DISARM_NOTE } from '@steeple/contracts'
import { descendantsOf, stopAll } from './descendants.ts'
import { renewalMs } from './guard-script.ts'

const START_BOUND_MS = 5_000

/** Words shared with the guard's thread. Times are CLOCK_MONOTONIC, ns: the same in every thread. */
const PID = 0
const KILL_AT = 1
const LEASE_UNTIL = 2
/** Start of the process, clock ticks since boot. */
const SINCE = 3
const WORDS = 4
/** How long the service has to end a radio in order once a disarm was noted, ms. */
const NOTED_KILL_MS = 200
/** What was not gone after so many kills is killed once a second. */
const QUICK_KILLS = 25

/**
 * The thread's program. It is text, since an installed plugin is one file. It waits without an event loop, so nothing
 * that the service does can keep it from killing the process group and what has left it. It looks for the latter
 * before the group dies, when parents are still known and all of it is stopped, and with the environments after it,
 * when waiting for one delays nothing.
 */
const PROGRAM = `
const fs = require('node:fs')
const { parentPort, workerData } = require('node:worker_threads')
const descendantsOf = ${descendantsOf.toString()}
const stopAll = ${stopAll.toString()}
const words = new BigInt64Array(workerData.words)
const bell = new Int32Array(workerData.bell)
const { entry, note } = workerData
const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = fs.constants
const room = Buffer.alloc(${DISARM_NOTE.bytes})
const noted = () => {
  let file
  try {
    file = fs.openSync(note, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    return room.toString('latin1', 0, fs.readSync(file, room, 0, room.length, 0)).replace(/^[\\s\\0]+$/, '')
  } catch {
    return ''
  } finally {
    if (file !== undefined) fs.closeSync(file)
  }
}
const familyOf = (root) =>
  descendantsOf(fs, { root, sinceTicks: Number(Atomics.load(words, ${SINCE})), entry, self: process.pid })
const send = (target, signal) => {
  try { process.kill(target, signal) } catch {}
}
const kill = (target) => send(target, 'SIGKILL')
const stop = (target) => send(target, 'SIGSTOP')
let pid = 0
let look
// A disarm that was there before is the gate's business: it is asked once more before the radio is started.
let before = noted()
let notedKillAt
let kills = 0
// Whoever cannot look must not guard.
familyOf(process.pid)(false)
parentPort.postMessage('ready')
while (Atomics.wait(bell, 0, 0, 40) === 'timed-out') {
  const watched = Number(Atomics.load(words, ${PID}))
  if (watched !== pid) {
    pid = watched
    look = familyOf(pid)
    kills = 0
  }
  if (pid === 0) continue
  const now = process.hrtime.bigint()
  const text = noted()
  if (text !== before && text !== '') notedKillAt ??= now + ${NOTED_KILL_MS}000000n
  before = text
  const killAt = Atomics.load(words, ${KILL_AT})
  const isNoted = notedKillAt !== undefined && now >= notedKillAt
  const isDue = isNoted || (killAt !== 0n && now >= killAt) || now >= Atomics.load(words, ${LEASE_UNTIL})
  if (!isDue) continue
  kills += 1
  if (kills > ${QUICK_KILLS} && kills % ${QUICK_KILLS} !== 0) continue
  const near = stopAll(() => look(false), stop)
  kill(-pid)
  for (const each of near) kill(each.pid)
  for (const each of stopAll(() => look(true), stop)) kill(each.pid)
}
`

/**
 * Kills a radio in time although the event loop of the service is blocked: it has a thread of its own.
 *
 * It kills at the deadline of a stop, soon after a disarm was written into the note of the data directory, by the service or beside it,
 * and when the service has not shown for the whole of the lease that its event loop
 * turns: a service that hangs could not take a disarm. A service that is stopped has stopped this thread as well; then the
 * process that holds the lease kills.
 */
export interface KillGuard {
  /**
   * Guards that process group, and what leaves it, from now on. Call it in the same turn in which the process was
   * started. `sinceTicks`: its start, clock ticks since boot.
   */
  watch(pid: number, sinceTicks: string): void
  /** Kills in `ms` from now, or earlier when that was asked for before. */
  killIn(ms: number): void
  /** The process was waited for: its id may mean another one now. */
  release(): void
  /** Ends the thread. */
  close(): Promise<void>
}

/**
 * Starts the guard's thread for processes whose environment holds `entry`; `note` is the file of a disarm. `lost` is told when it ends by
 * itself.
 * Rejects when it does not start.
 */
export async function startKillGuard(
  { entry, note }: { readonly entry: string; readonly note: string },
  lost: () => void,
  leaseMs: number,
): Promise<KillGuard> {
  const words = new BigInt64Array(new SharedArrayBuffer(8 * WORDS))
  const bell = new Int32Array(new SharedArrayBuffer(4))
  const worker = new Worker(PROGRAM, {
    eval: true,
    name: 'ran-kill-guard',
    env: {},
    stdin: false,
    workerData: { words: words.buffer, bell: bell.buffer, entry, note },
    resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 4, stackSizeMb: 1 },
  })
  worker.unref()
  await ready(worker)
  let isClosed = false
  worker.on('error', () => undefined) // `exit` follows
  worker.once('exit', () => {
    if (!isClosed) lost()
  })
  const renew = (): void => {
    Atomics.store(words, LEASE_UNTIL, inNs(leaseMs))
  }
  let renewal: NodeJS.Timeout | undefined
  return {
    watch: (pid, sinceTicks) => {
      Atomics.store(words, KILL_AT, 0n)
      Atomics.store(words, SINCE, BigInt(sinceTicks))
      renew()
      Atomics.store(words, PID, BigInt(pid))
      renewal = setInterval(renew, renewalMs(leaseMs)).unref()
    },
    killIn: (ms) => {
      const atNs = inNs(ms)
      const before = Atomics.load(words, KILL_AT)
      if (before === 0n || atNs < before) Atomics.store(words, KILL_AT, atNs)
    },
    release: () => {
      Atomics.store(words, PID, 0n)
      clearInterval(renewal)
    },
    close: async () => {
      isClosed = true
      clearInterval(renewal)
      Atomics.store(bell, 0, 1)
      Atomics.notify(bell, 0)
      await worker.terminate()
    },
  }
}

function inNs(ms: number): bigint {
  return process.hrtime.bigint() + BigInt(Math.round(ms * 1_000_000))
}

async function ready(worker: Worker): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const late = setTimeout(() => reject(new Error('the kill guard does not start')), START_BOUND_MS)
  const failed = (): void => reject(new Error('the kill guard ended at its start'))
  worker.once('message', () => resolve())
  worker.once('error', reject)
  worker.once('exit', failed)
  try {
    await promise
  } finally {
    clearTimeout(late)
    worker.off('error', reject)
    worker.off('exit', failed)
  }
}
