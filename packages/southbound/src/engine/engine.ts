import { southboundUnavailable } from '@steeple/contracts'
import type Docker from 'dockerode'
import { shown } from '../render/problems.ts'
import { abortable } from '../time-limit.ts'
import { dockerAt, engineProblem, whereOf } from './docker-engine.ts'
import { textOfLog } from './log-frames.ts'

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
export interface EngineOptions {
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

function statusOf(error: unknown): number | undefined {
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
