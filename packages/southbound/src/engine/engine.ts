import { existsSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { type Clock, countText, southboundUnavailable } from '@steeple/contracts'
import type Docker from 'dockerode'
import { redacted } from '../redact.ts'
import { shown } from '../render/problems.ts'
import { abortable } from '../time-limit.ts'

const MOST_LINES = 4
const MOST_CHARACTERS = 600
const COMPLAINT = /\b(?:fatal|error|panic|assert\w*|abort\w*|exception|invalid|failed|cannot|no such)\b/i

/**
 * What a program said before it ended, fit for an error or a log line: its last complaints (its last lines when it has
 * none), one after the other, without control characters, secrets and subscribers' identities. Empty when it said
 * nothing.
 */
export function lastWords(log: string): string {
  const lines = log
    .split(/\r?\n/)
    .map((line) => plain(line).trim())
    .filter((line) => line !== '')
  const complaints = lines.filter((line) => COMPLAINT.test(line))
  const told = (complaints.length > 0 ? complaints : lines).slice(-MOST_LINES)
  return redacted([...new Set(told)].join(' | ')).slice(-MOST_CHARACTERS)
}

/** Without terminal sequences and control characters. */
function plain(line: string): string {
  return line
    .replaceAll(/\p{Cc}\[[0-9;?]*[A-Za-z]/gu, '')
    .replaceAll(/\p{Cc}/gu, ' ')
    .slice(0, 2_000)
}

/** Where engines listen when nobody says otherwise, the first that is there: Docker's, then Podman's. */
const SOCKETS = ['/var/run/docker.sock', '/run/podman/podman.sock'] as const

/**
 * The engine's API. `socket` is a path; empty takes the one of `DOCKER_HOST`, Docker's own, or Podman's when only that
 * is there. Opens nothing yet. Throws as `stat` does when the path leads to nothing.
 */
export async function dockerAt(socket: string): Promise<Docker> {
  const socketPath = socketOf(socket)
  // A driver asks for its containers as soon as it starts, most boxes have no engine, and to load dockerode is a tenth of a start.
  if (socketPath !== undefined) await stat(socketPath)
  const { default: Engine } = await import('dockerode')
  return socketPath === undefined ? new Engine() : new Engine({ socketPath })
}

/** The path of an engine's socket, as `dockerAt` takes it; undefined when dockerode reads in `DOCKER_HOST` where the engine is. */
export function socketOf(socket: string): string | undefined {
  if (socket !== '') return socket
  const { DOCKER_HOST: host = '' } = process.env
  return host === '' ? usualSocket(SOCKETS) : undefined
}

/** The first of the sockets that is there, or else the first. */
export function usualSocket(paths: readonly [string, ...string[]]): string {
  return paths.find((path) => existsSync(path)) ?? paths[0]
}

/** Where an engine's API is, for people: the path of a socket, or host and port. There is none yet at a socket that is missing. */
export function whereOf(engine: Docker | undefined, socket: string): string {
  if (engine === undefined) return socketOf(socket) ?? 'DOCKER_HOST'
  const { socketPath, host, port } = modemOf(engine)
  if (typeof socketPath === 'string') return socketPath
  return `${String(host)}:${String(port)}`
}

/**
 * What an engine's refusal means, for people; without anything that a container or a request said. `key` is the
 * configuration key that names the container.
 */
export function engineProblem(error: unknown, key?: string): string {
  const { statusCode, code, message } = (error ?? {}) as Readonly<Record<string, unknown>> // checked below
  if (statusCode === 404) return `there is no such container${key === undefined ? '' : `; see ${key}`}`
  // Podman says it with a 500 and words.
  const isStopped = statusCode === 409 || /not running|on running containers/.test(String(message))
  if (isStopped) return 'it is not running'
  if (code === 'ENOENT') return "the engine's socket is missing; see hss.engine_socket"
  if (code === 'EACCES') return "this service may not use the engine's socket"
  if (typeof code === 'string' && /^[A-Z]{3,20}$/.test(code)) return `the engine does not answer (${code})`
  if (typeof statusCode === 'number') return `the engine answers ${statusCode}`
  return 'the engine does not answer'
}

interface ModemFacts {
  readonly socketPath?: unknown
  readonly host?: unknown
  readonly port?: unknown
}

function modemOf(engine: Docker): ModemFacts {
  // The modem's declared type leaves out what it was made with.
  return engine.modem as ModemFacts
}

/** What is kept of a container's output, bytes. */
const KEPT = 65_536
/** Bytes in front of a frame: kind, three zeros, length. */
const HEAD = 8

/** The text of a log as the engine sends it: raw for a terminal, else in frames of standard output and error. */
export function textOfLog(bytes: Uint8Array, kept: number = KEPT): string {
  const log = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const parts = framesOf(log) ?? [log]
  const text = Buffer.concat(parts)
  return text.subarray(Math.max(0, text.length - kept)).toString('utf8')
}

/** The contents of the frames; undefined when it has none. A frame that was cut off counts as far as it goes. */
function framesOf(log: Buffer): readonly Buffer[] | undefined {
  const frames: Buffer[] = []
  for (let at = 0; at < log.length; ) {
    const isFrame = log.length - at >= HEAD && log.readUInt8(at) <= 2 && log.readUIntBE(at + 1, 3) === 0
    if (!isFrame) return undefined
    const length = log.readUInt32BE(at + 4)
    frames.push(log.subarray(at + HEAD, at + HEAD + length))
    at += HEAD + length
  }
  return frames
}

/** A container as the engine knows it now. */
export interface ContainerState {
  readonly id: string
  readonly isRunning: boolean
  /** As the engine's machine counts; undefined while it does not run, or the engine does not tell. */
  readonly pid?: number | undefined
  /** Ms since the epoch; undefined when it never ran. */
  readonly startedAtMs: number | undefined
  /** Of its last run; undefined while it runs. */
  readonly exitCode: number | undefined
  /** How often the engine restarted it by itself. */
  readonly restartCount: number
}

/**
 * A container engine (Docker, Podman). It is looked up at each call, so it may be restarted or replaced meanwhile.
 *
 * Every call is bounded in time and throws `southbound_unavailable`, which names the socket and what to do, or the
 * signal's reason.
 */
export interface Engine {
  /** The container of that name or id; undefined when there is none. */
  inspect(container: string, signal: AbortSignal): Promise<ContainerState | undefined>
  /**
   * Stops it (killed after `stopTimeoutS`) and starts it; starts one that is stopped. Gives undefined once it has
   * started, or what the engine says when it cannot be started. Throws when there is no such container.
   */
  restart(
    container: string,
    options: { readonly stopTimeoutS: number },
    signal: AbortSignal,
  ): Promise<string | undefined>
  /**
   * The last lines of its output, at most `lines` and 64 KiB, with `sinceMs` only those from then on (ms since the
   * epoch). They are the container's own words and can hold anything: show them through `lastWords` only.
   */
  logsTail(container: string, lines: number, signal: AbortSignal, sinceMs?: number): Promise<string>
  /**
   * Of its last lines, `lines` at most, those from a moment on, each behind the time at which it was written (RFC 3339 to
   * the nanosecond), as which the moment is given too. As `logsTail`, up to 16 MiB.
   */
  logsSince(container: string, lines: number, at: string | undefined, signal: AbortSignal): Promise<string>
}

/** What may be set beside the defaults. */
interface EngineOptions {
  /** How long the engine may take to answer, ms; a restart gets its stop timeout on top. */
  readonly answerMs?: number
}

/** What engines take as a name or id. They put it into the path of a request as it is: `../x` and `a?b=1` would change it. */
const CONTAINER_NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/
const ANSWER_MS = 10_000
/** Of lines that are counted and not shown. */
const MOST_OUTPUT = 16 * 1024 * 1024
/** What a start may take beyond the stop timeout, ms. */
const START_MS = 15_000

/**
 * The engine at `socket`, which is asked for anew at each call when it is a function; empty means the one that
 * `dockerAt` finds. Opens nothing yet.
 */
export function engineAt(
  socket: string | (() => string),
  { answerMs = ANSWER_MS }: EngineOptions = {},
): Engine {
  const call = async <T>(
    container: string,
    limitMs: number,
    signal: AbortSignal,
    work: (target: Docker.Container, docker: Docker, abortSignal: AbortSignal) => Promise<T>,
  ): Promise<T> => {
    signal.throwIfAborted()
    requireName(container)
    const path = typeof socket === 'string' ? socket : socket()
    const ending = new AbortController()
    let docker: Docker | undefined
    try {
      docker = await dockerAt(path)
      const abortSignal = AbortSignal.any([signal, ending.signal])
      return await abortable(work(docker.getContainer(container), docker, abortSignal), signal, limitMs)
    } catch (error) {
      signal.throwIfAborted()
      const where = whereOf(docker, path)
      throw southboundUnavailable(`container ${container}: ${reasonOf(error)} (engine at ${where})`)
    } finally {
      ending.abort() // a call that was given up must not keep its connection
    }
  }
  return {
    inspect: (container, signal) =>
      call(container, answerMs, signal, async (target, _docker, abortSignal) => {
        try {
          return stateOf(await target.inspect({ abortSignal }))
        } catch (error) {
          if (statusOf(error) === 404) return undefined
          throw error
        }
      }),
    restart: (container, { stopTimeoutS }, signal) =>
      call(
        container,
        stopTimeoutS * 1000 + Math.max(answerMs, START_MS),
        signal,
        async (target, _docker, abortSignal) => {
          try {
            await target.restart({ t: stopTimeoutS, abortSignal })
            return undefined
          } catch (error) {
            const status = statusOf(error)
            if (status === undefined || status === 404 || status < 400) throw error
            return `the engine answers ${status}: ${wordsOf(error)}`
          }
        },
      ),
    logsTail: (container, lines, signal, sinceMs) =>
      call(container, answerMs, signal, async (target, _docker, abortSignal) => {
        const bytes = await target.logs({
          follow: false,
          stdout: true,
          stderr: true,
          tail: lines,
          ...(sinceMs === undefined ? {} : { since: sinceMs / 1000 }),
          abortSignal,
        })
        return textOfLog(bytes)
      }),
    logsSince: (container, lines, at, signal) =>
      call(container, answerMs, signal, async (target, _docker, abortSignal) => {
        const bytes = await target.logs({
          follow: false,
          stdout: true,
          stderr: true,
          timestamps: true,
          tail: lines,
          ...(at === undefined ? {} : { since: secondOf(at) }),
          abortSignal,
        })
        return textOfLog(bytes, MOST_OUTPUT)
      }),
  }
}

/** To the second before: not every engine takes fractions, and what was read already is told apart. */
function secondOf(at: string): number {
  return Math.max(0, Math.floor(Date.parse(at) / 1_000))
}

function requireName(container: string): void {
  if (CONTAINER_NAME.test(container)) return
  throw southboundUnavailable(`${shown(container)} is no name of a container`)
}

function stateOf(info: Docker.ContainerInspectInfo): ContainerState {
  const { State: state } = info
  const startedAtMs = Date.parse(state.StartedAt)
  return {
    id: info.Id,
    isRunning: state.Running && !state.Restarting,
    pid: state.Pid > 0 ? state.Pid : undefined,
    startedAtMs: startedAtMs > 0 ? startedAtMs : undefined,
    exitCode: state.Running ? undefined : state.ExitCode,
    restartCount: info.RestartCount ?? 0,
  }
}

/** The HTTP status in an error of the engine. */
export function statusOf(error: unknown): number | undefined {
  const { statusCode } = (error ?? {}) as { statusCode?: unknown } // checked below
  return typeof statusCode === 'number' ? statusCode : undefined
}

function wordsOf(error: unknown): string {
  const { json, reason } = (error ?? {}) as { json?: { message?: unknown }; reason?: unknown } // checked below
  return String(json?.message ?? reason ?? 'it does not start')
}

function reasonOf(error: unknown): string {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown } // checked below
  return code === southboundUnavailable.code ? `the engine gives ${String(message)}` : engineProblem(error)
}

/** Whether a container runs: `down` also for one that is gone, `unknown` when the engine cannot be asked. */
export async function containerLook(
  engine: Engine,
  container: string,
  signal: AbortSignal,
): Promise<'up' | 'down' | 'unknown'> {
  try {
    const state = await engine.inspect(container, signal)
    return state?.isRunning === true ? 'up' : 'down'
  } catch {
    signal.throwIfAborted()
    return 'unknown'
  }
}

/** An engine that remembers which containers are started by others than this service: by itself after a crash, mostly. */
export interface CountingEngine extends Engine {
  /** For `CoreObserved.restarted`: of these containers by daemon the ones that are started over and over. */
  restarted(containers: Readonly<Record<string, string>>): ReadonlyMap<string, string>
}

/** Starts so long ago do not count, ms. */
const WINDOW_MS = 600_000
/** One that has run so long since is no longer told of, ms. */
const CALM_MS = 120_000
/** Fewer are an upgrade, or somebody's own restart. */
const FEWEST = 3

interface Seen {
  readonly state: ContainerState
  readonly starts: readonly { readonly atMs: number; readonly count: number }[]
}

/** Counts what `inspect` shows: the engine's own count, and starts that it does not count. */
export function countingEngine(engine: Engine, clock: Pick<Clock, 'monotonicMs'>): CountingEngine {
  const seen = new Map<string, Seen>()
  const note = (container: string, state: ContainerState): void => {
    const nowMs = clock.monotonicMs()
    const { state: before, starts } = seen.get(container) ?? { state, starts: [] }
    const isOther = state.startedAtMs !== before.startedAtMs
    const count = Math.max(state.restartCount - before.restartCount, isOther ? 1 : 0)
    const recent = starts.filter(({ atMs }) => nowMs - atMs < WINDOW_MS)
    seen.set(container, { state, starts: count > 0 ? [...recent, { atMs: nowMs, count }] : recent })
  }
  return {
    inspect: async (container, signal) => {
      const state = await engine.inspect(container, signal)
      if (state === undefined) seen.delete(container)
      else note(container, state)
      return state
    },
    restart: async (container, options, signal) => {
      try {
        return await engine.restart(container, options, signal)
      } finally {
        seen.delete(container)
      }
    },
    logsTail: (...args) => engine.logsTail(...args),
    logsSince: (...args) => engine.logsSince(...args),
    restarted: (containers) => {
      const all = Object.entries(containers).map(
        ([daemon, container]) =>
          [daemon, words(seen.get(container)?.starts ?? [], clock.monotonicMs())] as const,
      )
      return new Map(all.flatMap(([daemon, told]) => (told === undefined ? [] : [[daemon, told] as const])))
    },
  }
}

function words(all: Seen['starts'], nowMs: number): string | undefined {
  const starts = all.filter(({ atMs }) => nowMs - atMs < WINDOW_MS)
  const [first, last] = [starts[0], starts.at(-1)]
  const count = starts.reduce((sum, one) => sum + one.count, 0)
  if (first === undefined || last === undefined || count < FEWEST) return undefined
  if (nowMs - last.atMs > CALM_MS) return undefined
  const minutes = Math.max(1, Math.ceil((nowMs - first.atMs) / 60_000))
  return `it was restarted ${countText(count, 'time')} in ${countText(minutes, 'minute')}`
}
