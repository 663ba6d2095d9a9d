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
export function createWatchdog(): (note: string) => void {
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
