import { execFile } from 'node:child_process'
import { once } from 'node:events'
import type { KernelLog } from '@steeple/kernel'

/** How often the event loop says that it turns, ms. */
const BEAT_MS = 500
/** Of what the thread shares with the event loop: how often that has turned, and whether a debugger may hold it. */
const [TURNS, IS_DEBUGGED] = [0, 1]

/**
 * Looks, each second of its own, whether the event loop has turned. Only seconds count in which the main thread has worked, or slept: not those
 * of a process that was stopped, of a machine that was suspended, or that has no processor for it, and not those in which it
 * waits for a disk. After 5 s it asks the main thread, twice, what it is in, as a debugger does: whoever runs JavaScript
 * answers. Long work of SQLite does not answer, and has 60 s. Then it writes down where the main thread was, and ends the process.
 */
const THREAD = `
const { workerData: { beats, note, pid } } = require('node:worker_threads')
const { closeSync, fsyncSync, openSync, readFileSync, writeSync } = require('node:fs')
const TICK_MS = 1000
const LIMIT_MS = 5000
const SILENT_LIMIT_MS = 60000
const ANSWER_MS = 1000
const CLOCK_TICK_MS = 10
const MOST_FRAMES = 100
let turns = -1
let heldMs = 0
let isAsking = false
let before = look()
function look() {
  const fields = readFileSync('/proc/self/task/' + pid + '/stat', 'latin1').split(') ').at(-1).split(' ')
  return { state: fields[0], workedMs: (Number(fields[11]) + Number(fields[12])) * CLOCK_TICK_MS }
}
function end(frames) {
  const text = JSON.stringify({ held_ms: heldMs, uptime_ms: Math.round(process.uptime() * 1000), frames })
  const where = frames[0] ?? 'code that is no JavaScript'
  try {
    const file = openSync(note, 'w', 0o600)
    writeSync(file, text)
    fsyncSync(file)
    closeSync(file)
    writeSync(2, 'svc: the event loop has not turned for ' + Math.round(heldMs / 1000) + ' s, in ' + where + '; the process is ended\\n')
  } finally {
    process.kill(pid, 'SIGKILL')
  }
}
function ask() {
  isAsking = true
  const asked = Atomics.load(beats, ${TURNS})
  const session = new (require('node:inspector').Session)()
  const files = new Map()
  let answers = 0
  session.connectToMainThread()
  session.on('Debugger.scriptParsed', ({ params }) => files.set(params.scriptId, params.url))
  session.on('Debugger.paused', ({ params }) => {
    if (Atomics.load(beats, ${TURNS}) !== asked) return
    answers += 1
    if (answers > 1)
      end(params.callFrames.slice(0, MOST_FRAMES).map(({ functionName, location }) =>
        (functionName || 'anonymous') + ' ' + (files.get(location.scriptId) || '?') + ':' + (location.lineNumber + 1)))
    session.post('Debugger.resume')
    setTimeout(() => session.post('Debugger.pause'), ANSWER_MS / 2)
  })
  session.post('Debugger.enable')
  session.post('Debugger.pause')
  setTimeout(() => {
    session.disconnect()
    isAsking = false
  }, 2 * ANSWER_MS)
}
setInterval(() => {
  const now = look()
  const workedMs = now.workedMs - before.workedMs
  before = now
  const turned = Atomics.load(beats, ${TURNS})
  if (turned !== turns || Atomics.load(beats, ${IS_DEBUGGED}) === 1) {
    turns = turned
    heldMs = 0
    return
  }
  heldMs += now.state === 'S' ? TICK_MS : Math.min(workedMs, TICK_MS)
  if (heldMs >= SILENT_LIMIT_MS) end([])
  if (heldMs >= LIMIT_MS && !isAsking) ask()
}, TICK_MS)
`
const THREAD_LIMITS = { maxYoungGenerationSizeMb: 1, maxOldGenerationSizeMb: 64 }

/**
 * Makes what ends the process when its event loop does not turn any more, as a plugin with an endless loop has it: give it the
 * file for its note before code runs that is no part of the build. The next start reads the note, and whoever restarts the
 * service does so at once. Calls after the first do nothing. It is a thread of 10 MiB, which a service without such code does without.
 */
function createWatchdog(): (note: string) => void {
  let isBegun = false
  return (note) => {
    if (isBegun) return
    isBegun = true
    const { Worker } = process.getBuiltinModule('node:worker_threads')
    const inspector = process.getBuiltinModule('node:inspector')
    const beats = new Int32Array(new SharedArrayBuffer(8))
    const beat = (): void => {
      Atomics.add(beats, TURNS, 1)
      Atomics.store(beats, IS_DEBUGGED, inspector.url() === undefined ? 0 : 1)
    }
    beat()
    setInterval(beat, BEAT_MS).unref()
    new Worker(THREAD, {
      eval: true,
      workerData: { beats, note, pid: process.pid },
      env: {},
      execArgv: [],
      resourceLimits: THREAD_LIMITS,
    })
      // Without a thread the service is watched by systemd alone.
      .on('error', (error) => process.stderr.write(`svc: the event loop is not watched: ${error.message}\n`))
      .unref()
  }
}

/** Of the time that systemd waits for a word, what passes between two, so that one may be late. */
const SHARE = 1 / 3

/**
 * Tells systemd that the service is ready, and from then on that its event loop turns, by systemd's own program: Node has no
 * sockets of the kind that it listens on. Does nothing where systemd has not started the service; calls after the first do nothing.
 */
export function createTeller(env: NodeJS.ProcessEnv = process.env): () => void {
  const { NOTIFY_SOCKET: socket, WATCHDOG_USEC: patience, WATCHDOG_PID: whose } = env
  const say = (word: string): void => {
    execFile('systemd-notify', [word], { env }, () => undefined).unref()
  }
  let isTold = false
  return () => {
    if (socket === undefined || isTold) return
    isTold = true
    say('READY=1')
    const everyMs = (Number(patience) / 1_000) * SHARE
    const isMine = whose === undefined || Number(whose) === process.pid
    if (everyMs >= 1 && isMine) setInterval(() => say('WATCHDOG=1'), everyMs).unref()
  }
}

/** What to do about an installed plugin that ends the service. */
const REMEDY =
  'the second time in a row the next start goes without it; svc --safe-mode goes without all installed plugins'

/** What happens to the process, and whom to tell of it now. */
export interface ProcessWatch {
  log: KernelLog | undefined
  /** Says which installed plugins an error may have come from, once there is a kernel. */
  blame: (error: unknown) => readonly string[]
  readonly hangUp: HangUp
  /** Ends the process with a note in that file when its event loop does not turn any more. */
  readonly loop: (note: string) => void
  /** Tells whoever started the process that it serves. */
  readonly isReady: () => void
  /**
   * The first SIGTERM or SIGINT, or the end of a parent that holds a channel to this process (`npm start`). Later ones
   * change nothing: a terminal sends SIGINT to every process of the group.
   */
  readonly ending: Promise<string>
}

/** Looks after the process from now on. */
export function watchProcess(): ProcessWatch {
  const signals = ['SIGTERM', 'SIGINT'] as const
  const tellSystemd = createTeller()
  for (const signal of signals) process.on(signal, () => undefined)
  const orphaned = once(process, 'disconnect').then(() => 'its parent has ended')
  const told = signals.map(async (signal) => ((await once(process, signal)) as [string])[0])
  const watch: ProcessWatch = {
    log: undefined,
    blame: () => [],
    hangUp: keepHangUp(),
    loop: createWatchdog(),
    isReady: () => {
      tellSystemd()
      process.send?.('listening')
    },
    ending: Promise.race([...told, orphaned]),
  }
  let isOver = false
  const fatal = (kind: string) => (error: unknown) => {
    const folders = watch.blame(error)
    const remedy = folders.length === 0 ? {} : { plugin_folders: folders, remedy: REMEDY }
    if (watch.log === undefined) process.stderr.write(`svc: ${kind}: ${String(error)}\n`)
    watch.log?.error({ err: error, ...remedy }, kind)
    watch.log?.flush()
    isOver = true
    process.exit(1)
  }
  // A plugin that ends the process has its code in the stack of that.
  process.on('exit', (code) => {
    const folders = isOver ? [] : watch.blame(stackOf(`the process was ended with ${code}`))
    if (folders.length === 0) return
    watch.log?.error({ code, plugin_folders: folders, remedy: REMEDY }, 'a plugin has ended the process')
    watch.log?.flush()
  })
  process.on('uncaughtException', fatal('an error was not caught'))
  process.on('unhandledRejection', fatal('a promise was not awaited'))
  return watch
}

/** An error with a stack as deep as there is. */
function stackOf(message: string): Error {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 200
  try {
    return new Error(message)
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
}

/** What SIGHUP does from now on. */
interface HangUp {
  /** From now on SIGHUP does this; at once where it came before. */
  begin(work: () => void): void
  /** From now on it is kept again until somebody begins. */
  keep(): void
}

/** Keeps SIGHUP, which would end the process while it starts, for when there is something to reload. */
function keepHangUp(): HangUp {
  let hasCome = false
  const keep = (): void => {
    hasCome = true
  }
  let onHangUp = keep
  process.on('SIGHUP', () => onHangUp())
  return {
    begin: (work) => {
      onHangUp = work
      if (!hasCome) return
      hasCome = false
      work()
    },
    keep: () => {
      onHangUp = keep
    },
  }
}
