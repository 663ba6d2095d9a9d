import type { Clock, Log, LogControl, LogLevel } from '@steeple/contracts'
import { type Logger, pino } from 'pino'
import { consoleLine } from './log-console.ts'
import { createLogLevels, type LogLevels } from './log-levels.ts'
import { redactFacts } from './log-redaction.ts'
import { createRecentLines, type RecentLines } from './log-ring.ts'
import { type LogSink, stdoutSink } from './log-sink.ts'

/** The component of lines that name none. */
const KERNEL = 'kernel'
/** How the line of a warning or an error begins. */
const URGENT = /^\{"level":"(?:warn|error)"/

/** What a log is made of. */
export interface LogOptions {
  readonly level: LogLevel
  readonly format: 'json' | 'console'
  readonly clock: Clock
  /** Standard output, written asynchronously, when absent. */
  readonly sink?: LogSink
  /** Colours in the `console` format; when absent, if standard output is a terminal. */
  readonly hasColours?: boolean
}

/** The log of the service. Facts are redacted before they are written. */
export interface KernelLog extends Log {
  /** As `info`, for facts that the caller has made itself: they are not looked through for secrets. */
  plain(facts: Readonly<Record<string, string | number>>, message: string): void
  /**
   * A log whose lines all carry these facts: `child({ plugin: id })`, `child({ component: 'http' })`. Its component, for levels,
   * is what one of both says. Follows level changes.
   */
  child(bindings: Readonly<Record<string, unknown>>): KernelLog
  /** The level of the configuration from now on, here and in every child. */
  setLevel(level: LogLevel): void
  readonly level: LogLevel
  /** Levels that hold for a time, of this log and all its children. */
  readonly control: LogControl
  /** The last lines as JSON, redacted, each with its newline, the oldest first; less than 1 MiB of them. */
  recent(): readonly string[]
  /** Lines that were dropped because nobody read them. */
  readonly dropped: number
  /** Writes what is held before it returns. */
  flush(): void
  /** Flushes and stops the timer. Lines after it are still written, one by one. */
  close(): void
}

/** Makes the log of the service: one JSON object (or readable line) per event. */
export function createLog(options: LogOptions): KernelLog {
  const sink = options.sink ?? stdoutSink()
  const write = options.format === 'console' ? consoleWriter(sink, options.hasColours) : sink.write.bind(sink)
  const isoTime = memoisedIsoTime(options.clock)
  const recent = createRecentLines()
  const root = pino(
    {
      level: 'debug',
      base: null,
      timestamp: () => `,"time":"${isoTime()}"`,
      // Errors are plain already.
      serializers: { err: (value: unknown) => value },
      formatters: { level: (label) => ({ level: label }) },
    },
    {
      write: (line: string) => {
        recent.add(URGENT.test(line) ? 'urgent' : 'calm', line)
        write(line)
      },
    },
  )
  const levels = createLogLevels(options.level, options.clock)
  const components = new Set([KERNEL])
  return wrap(root, { sink, levels, write, isoTime, recent, components }, { bound: '', component: KERNEL })
}

function consoleWriter(sink: LogSink, hasColours = process.stdout.isTTY === true): (line: string) => void {
  return (line) => sink.write(consoleLine(line, { hasColours }))
}

interface Shared {
  readonly sink: LogSink
  readonly levels: LogLevels
  readonly recent: RecentLines
  /** Every component that a log was made for. */
  readonly components: Set<string>
  write(line: string): void
  isoTime(): string
}

/** `bound` are the facts of every line, as they stand in the line. */
interface Place {
  readonly bound: string
  readonly component: string
}

function wrap(logger: Logger, shared: Shared, { bound, component }: Place): KernelLog {
  const { levels } = shared
  const at =
    (level: LogLevel) =>
    (facts: object, message: string): void => {
      if (levels.takes(level, component)) logger[level](redactFacts(facts), message)
    }
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    plain: (facts, message) => {
      if (!levels.takes('info', component)) return
      // There is one for each request: the line is written as pino does, at a third of the time.
      const head = `{"level":"info","time":"${shared.isoTime()}"${bound}`
      const line = `${head},${JSON.stringify(facts).slice(1, -1)},"msg":${JSON.stringify(message)}}\n`
      shared.recent.add('request', line)
      shared.write(line)
    },
    child: (bindings) => {
      const facts = redactFacts(bindings)
      const own = String(bindings.plugin ?? bindings.component ?? component)
      shared.components.add(own)
      const place = { bound: `${bound},${JSON.stringify(facts).slice(1, -1)}`, component: own }
      return wrap(logger.child(facts), shared, place)
    },
    setLevel: (level) => {
      levels.base = level
    },
    get level() {
      return levels.base
    },
    control: {
      components: () => [...shared.components].toSorted(),
      level: () => levels.base,
      hold: (name, level, forMs) => levels.hold(name, level, forMs),
      holds: () => levels.holds(),
    },
    recent: () => shared.recent.lines(),
    get dropped() {
      return shared.sink.dropped
    },
    flush: () => shared.sink.flush(),
    close: () => shared.sink.close(),
  }
}

/** RFC 3339 of the present; most lines share a millisecond with the one before. */
function memoisedIsoTime(clock: Clock): () => string {
  let lastMs = Number.NaN
  let text = ''
  return () => {
    const nowMs = clock.nowMs()
    if (nowMs !== lastMs) {
      lastMs = nowMs
      text = new Date(nowMs).toISOString()
    }
    return text
  }
}
