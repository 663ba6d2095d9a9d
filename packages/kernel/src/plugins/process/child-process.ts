import { type ChildProcess, fork } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import type { Log } from '@steeple/contracts'
import type { Timers } from '../../timers.ts'
import { type CallHandler, createPeer, type Peer, type TellHandler } from './peer.ts'
import type { Message } from './wire.ts'

/** A plugin's own process. */
export interface PluginProcess {
  readonly pid: number | undefined
  readonly peer: Peer
  /** Resolves when it has ended, with how. Never rejects. */
  readonly ended: Promise<string>
  /** Closes the channel and waits; kills what is still there after `END_BOUND_MS`. */
  end(): Promise<void>
  /** Ends it at once. */
  kill(): void
}

/** What a process is started with. */
export interface ProcessOptions {
  readonly entry: URL
  /** Its working directory. */
  readonly dir: string
  readonly log: Log
  readonly timers: Timers
  readonly calls: Readonly<Record<string, CallHandler>>
  readonly tells: Readonly<Record<string, TellHandler>>
}

/** Variables that a process gets. None of them holds a secret; the rest of the environment may. */
const PASSED_VARIABLES = ['PATH', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR'] as const
/** MiB of JavaScript heap. Native memory is not counted. */
const HEAP_LIMIT_MIB = 256
/** How long a process may take to end by itself. */
const END_BOUND_MS = 2_500
/** Characters of one line of its output that are kept. */
const LINE_CHARACTERS = 2_000
/** Lines of its output that are kept of each `LINES_WINDOW_MS`. */
const LINES_PER_WINDOW = 100
const LINES_WINDOW_MS = 10_000

/** The entry of the children, beside this file in the sources and beside the kernel's own entry in a build. */
export function childEntry(): URL {
  const isSource = import.meta.url.endsWith('.ts')
  return new URL(isSource ? '../child-main.ts' : './child-main.js', import.meta.url)
}

/** Starts a process. It has no credentials, no store, and ends when this process does. */
export function startProcess({ entry, dir, log, timers, calls, tells }: ProcessOptions): PluginProcess {
  const child = fork(fileURLToPath(entry), [], {
    cwd: dir,
    env: Object.fromEntries(PASSED_VARIABLES.flatMap((name) => variable(name))),
    execArgv: [`--max-old-space-size=${HEAP_LIMIT_MIB}`],
    serialization: 'advanced',
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  const peer = createPeer({
    send: (message) => {
      // A channel that closes meanwhile is told by the exit; the callback keeps it from being an error event.
      if (child.connected) child.send(message, () => undefined)
    },
    timers,
    calls,
    tells,
  })
  child.on('message', (message) => {
    try {
      // The child runs this build's own protocol.
      peer.receive(message as Message)
    } catch (error) {
      log.warn({ err: error }, 'plugin process said something that was refused')
    }
  })
  forward(child.stdout, 'stdout', log)
  forward(child.stderr, 'stderr', log)
  const ended = endOf(child).then((how) => {
    peer.close(`its process ended: ${how}`)
    return how
  })
  const kill = (): void => void child.kill('SIGKILL')
  return {
    pid: child.pid,
    peer,
    ended,
    kill,
    end: async () => {
      if (child.connected) child.disconnect()
      const timer = timers.setTimeout(kill, END_BOUND_MS)
      await ended
      timers.clearTimeout(timer)
    },
  }
}

function variable(name: string): readonly (readonly [string, string])[] {
  const value = process.env[name]
  return value === undefined ? [] : [[name, value]]
}

function endOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once('error', (error) => {
      if (child.pid === undefined) resolve(`it could not be started: ${error.message}`)
    })
    // `exit` and not `close`: a grandchild that keeps the pipes open must not hide the end.
    child.once('exit', (code, signal) => resolve(signal === null ? `exit code ${String(code)}` : signal))
  })
}

/** What a plugin prints goes into the log, bounded. */
function forward(stream: Readable | null, name: string, log: Log): void {
  if (stream === null) return
  let windowStartMs = performance.now()
  let count = 0
  createInterface({ input: stream }).on('line', (line) => {
    const nowMs = performance.now()
    if (nowMs - windowStartMs > LINES_WINDOW_MS) {
      windowStartMs = nowMs
      count = 0
    }
    count += 1
    if (count <= LINES_PER_WINDOW)
      log.info({ stream: name, text: line.slice(0, LINE_CHARACTERS) }, 'plugin printed')
    else if (count === LINES_PER_WINDOW + 1)
      log.warn({ stream: name }, 'plugin prints too much; lines dropped')
  })
}
