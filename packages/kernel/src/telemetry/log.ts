import type { Clock, Log, LogControl, LogLevel, LogLevelHold } from '@steeple/contracts'
import { type Logger, pino } from 'pino'
import { redactFacts } from './log-redaction.ts'
import { createRecentLines, type LogSink, type RecentLines, stdoutSink } from './log-sink.ts'

/** Colours of a terminal by level (SGR codes). */
const COLOURS: Readonly<Record<string, string>> = { debug: '90', info: '32', warn: '33', error: '31' }
const GREY = '90'

/** How a line is written for a person. */
interface ConsoleStyle {
  /** Colours, for a terminal. */
  readonly hasColours: boolean
}

/**
 * One JSON log line as a line for a terminal: `12:00:01.234 INFO  message  key=value …`; an error's stack follows
 * indented. A line that is no JSON object stays as it is.
 */
export function consoleLine(json: string, style: ConsoleStyle): string {
  const line = parseLine(json)
  if (line === undefined) return json
  const { time, level, msg, err, ...facts } = line
  const paint = (code: string, text: string): string =>
    style.hasColours && text !== '' ? `\u001B[${code}m${text}\u001B[0m` : text
  const word = String(level ?? 'info')
  const parts = [
    paint(
      GREY,
      String(time ?? '')
        .replace(/^.*T/, '')
        .replace(/Z$/, ''),
    ),
    paint(COLOURS[word] ?? GREY, word.toUpperCase().padEnd(5)),
    printable(String(msg ?? '')),
    paint(
      GREY,
      Object.entries(facts)
        .map(([name, value]) => `${name}=${shown(value)}`)
        .join(' '),
    ),
  ]
  return `${parts.filter((part) => part !== '').join(' ')}${errorText(err)}\n`
}

function parseLine(json: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(json)
    return typeof value === 'object' && value !== null ? { ...value } : undefined
  } catch {
    return undefined
  }
}

/** Control characters could drive the terminal. */
function printable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what must go
  return text.replaceAll(/[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/g, '?')
}

function shown(value: unknown): string {
  const text = typeof value === 'string' && /^[^\s"=]+$/.test(value) ? value : (JSON.stringify(value) ?? '')
  return printable(text)
}

function errorText(err: unknown): string {
  if (typeof err !== 'object' || err === null) return ''
  const { message, stack, cause } = err as { message?: unknown; stack?: unknown; cause?: unknown } // any may be absent
  const own = `\n${printable(String(stack ?? message ?? '')).replaceAll(/^/gm, '    ')}`
  return cause === undefined ? own : `${own}\n    caused by:${errorText(cause)}`
}

const LEVEL_NUMBERS: Readonly<Record<LogLevel, number>> = { debug: 20, info: 30, warn: 40, error: 50 }

interface Held {
  readonly level: LogLevel
  /** By the clock that never goes back: a wall clock that leaps neither ends nor prolongs it. */
  readonly untilMonotonicMs: number
}

/** Of all components that have none of their own. */
const EVERY = ''

/** Which lines are written: the configuration's level, and what holds for a time in its place. */
function createLogLevels(base: LogLevel, clock: Clock) {
  const held = new Map<string, Held>()
  const heldOf = (component: string): Held | undefined => {
    const found = held.get(component)
    if (found === undefined || found.untilMonotonicMs > clock.monotonicMs()) return found
    held.delete(component)
    return undefined
  }
  const levels = {
    /** The configuration's. */
    base,
    /** Whether a line of this level and component is written now. */
    takes: (level: LogLevel, component: string): boolean => {
      const holds = held.size === 0 ? undefined : (heldOf(component) ?? heldOf(EVERY))
      return LEVEL_NUMBERS[level] >= LEVEL_NUMBERS[holds?.level ?? levels.base]
    },
    /** Another level for a component (for all without one of their own when undefined); no level ends that. */
    hold: (component: string | undefined = EVERY, level: LogLevel | undefined, forMs: number): void => {
      if (level === undefined) held.delete(component)
      else held.set(component, { level, untilMonotonicMs: clock.monotonicMs() + forMs })
    },
    /** What holds now, by component. */
    holds: (): readonly LogLevelHold[] =>
      [...held.keys()].toSorted().flatMap((component) => {
        const found = heldOf(component)
        if (found === undefined) return []
        const untilMs = clock.nowMs() + found.untilMonotonicMs - clock.monotonicMs()
        return [{ component: component === EVERY ? undefined : component, level: found.level, untilMs }]
      }),
  }
  return levels
}

/** The component of lines that name none. */
const KERNEL = 'kernel'
/** How the line of a warning or an error begins. */
const URGENT = /^\{"level":"(?:warn|error)"/
/** How the line of a request ends. On a terminal it is shown at `debug`. */
const REQUEST = /,"msg":"request"\}\n$/
const HTTP = 'http'

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
  /** Writes what is held before it returns. */
  flush(): void
  /** Flushes and stops the timer. Lines after it are still written, one by one. */
  close(): void
}

/** Makes the log of the service: one JSON object (or readable line) per event. */
export function createLog(options: LogOptions): KernelLog {
  const sink = options.sink ?? stdoutSink()
  const levels = createLogLevels(options.level, options.clock)
  const isoTime = (): string => new Date(options.clock.nowMs()).toISOString()
  const write =
    options.format === 'console' ? consoleWriter(sink, levels, options.hasColours) : sink.write.bind(sink)
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
  const components = new Set([KERNEL])
  return wrap(root, { sink, levels, write, isoTime, recent, components }, { bound: '', component: KERNEL })
}

function consoleWriter(
  sink: LogSink,
  levels: ReturnType<typeof createLogLevels>,
  hasColours = process.stdout.isTTY === true,
): (line: string) => void {
  return (line) => {
    if (!REQUEST.test(line) || levels.takes('debug', HTTP)) sink.write(consoleLine(line, { hasColours }))
  }
}

interface Shared {
  readonly sink: LogSink
  readonly levels: ReturnType<typeof createLogLevels>
  readonly recent: RecentLines
  /** Every component that a log was made for. */
  readonly components: Set<string>
  write(line: string): void
  isoTime(): string
}

/** `bound` are the facts of every line, as they stand in the line. */
interface Bindings {
  readonly bound: string
  readonly component: string
}

function wrap(logger: Logger, shared: Shared, { bound, component }: Bindings): KernelLog {
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
    flush: () => shared.sink.flush(),
    close: () => shared.sink.close(),
  }
}
