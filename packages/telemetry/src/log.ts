import type { Clock, Log, Settings } from '@steeple/contracts'
import { type Logger, pino } from 'pino'
import { consoleLine } from './log-console.ts'
import { redactFacts } from './log-redaction.ts'
import { type LogSink, stdoutSink } from './log-sink.ts'

/** Levels of the configuration, least urgent first. */
export type LogLevel = Settings['server']['log_level']

const LEVEL_NUMBERS: Readonly<Record<LogLevel, number>> = { debug: 20, info: 30, warn: 40, error: 50 }
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
  /** A log whose lines all carry these facts: `child({ plugin: id })`. Follows level changes. */
  child(bindings: object): KernelLog
  /** The level from now on, here and in every child. */
  setLevel(level: LogLevel): void
  readonly level: LogLevel
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
  const root = pino(
    {
      level: 'debug',
      base: null,
      timestamp: () => `,"time":"${isoTime()}"`,
      // Errors are plain already.
      serializers: { err: (value: unknown) => value },
      formatters: { level: (label) => ({ level: label }) },
    },
    { write },
  )
  return wrap(root, { sink, level: options.level, write, isoTime }, '')
}

function consoleWriter(sink: LogSink, hasColours = process.stdout.isTTY === true): (line: string) => void {
  return (line) => sink.write(consoleLine(line, { hasColours }))
}

interface Shared {
  readonly sink: LogSink
  level: LogLevel
  write(line: string): void
  isoTime(): string
}

/** `bound` are the facts of every line, as they stand in the line. */
function wrap(logger: Logger, shared: Shared, bound: string): KernelLog {
  const at =
    (level: LogLevel) =>
    (facts: object, message: string): void => {
      if (LEVEL_NUMBERS[level] < LEVEL_NUMBERS[shared.level]) return
      logger[level](redactFacts(facts), message)
    }
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    plain: (facts, message) => {
      if (LEVEL_NUMBERS.info < LEVEL_NUMBERS[shared.level]) return
      // There is one for each request: the line is written as pino does, at a third of the time.
      const head = `{"level":"info","time":"${shared.isoTime()}"${bound}`
      shared.write(`${head},${JSON.stringify(facts).slice(1, -1)},"msg":${JSON.stringify(message)}}\n`)
    },
    child: (bindings) => {
      const facts = redactFacts(bindings)
      return wrap(logger.child(facts), shared, `${bound},${JSON.stringify(facts).slice(1, -1)}`)
    },
    setLevel: (level) => {
      shared.level = level
    },
    get level() {
      return shared.level
    },
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
