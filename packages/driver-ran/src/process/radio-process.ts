import { spawn } from 'node:child_process'
import type { Readable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import { type Clock, southboundUnavailable } from '@steeple/contracts'
import type { RadioEvent } from '../stream/radio-event.ts'
import { mayBeOnAir, type RadioFacts } from '../stream/radio-facts.ts'
import { muteLine } from '../stream/srsenb-line.ts'
import type { RadioExit } from './exit-class.ts'
import type { KillGuard } from './kill-guard.ts'
import { isPrivilegedExec, markOf, type ProcessMark } from './proc-fs.ts'
import { LAUNCHER, launchArguments, type RadioCommand, radioEnvironment, radioMark } from './radio-command.ts'
import { radioEars } from './radio-ears.ts'
import { radioFamily } from './radio-family.ts'

/**
 * How fast a radio must be gone. `urgent`: off air within a second whatever it does. `orderly`: it may go on, a while
 * longer, to close its device; for stops with an open gate.
 */
export type Haste = 'urgent' | 'orderly'

/** When each haste kills, ms after it began. One that is not on air yet has nothing to close: it is killed at once. */
export const KILL_AFTER_MS: Readonly<Record<Haste, number>> = { urgent: 700, orderly: 3_500 }
/** The whole of a stop, ms. A process that the kernel cannot end (a driver that hangs) outlives it. */
export const GONE_BOUND_MS = 6_200
/** How long the last words are waited for after the end, ms. */
const LAST_WORDS_MS = 250

/** Told of what a radio says and of its end. Both are called outside of any call of the radio's own methods. */
export interface RadioListener {
  changed(facts: RadioFacts): void
  exited(exit: RadioExit): void
}

/** One running radio. */
export interface RadioProcess {
  readonly mark: ProcessMark | undefined
  /** Process id on this machine; undefined when it has none that is known. */
  readonly pid: number | undefined
  readonly isHalting: boolean
  facts(): RadioFacts
  /** Adds what was heard elsewhere than in its output. */
  note(event: RadioEvent): void
  /** Kills it in this very turn. */
  kill(): void
  /** Resolves when it and everything it started is gone; rejects with `southbound_unavailable` when that is not certain. */
  halt(haste: Haste): Promise<void>
}

/** Starts a radio in this very turn, under the guard, with the parent-death signal. Never throws: it exits instead. */
export function startRadio(
  command: RadioCommand,
  guard: KillGuard,
  clock: Clock,
  listener: RadioListener,
): RadioProcess {
  const child = spawn(LAUNCHER, launchArguments(command, process.pid), {
    cwd: command.directory,
    env: radioEnvironment(command.directory),
    stdio: ['pipe', 'pipe', 'pipe'],
    // Its own process group: a Ctrl-C meant for the service does not reach it, and a kill reaches all of it.
    detached: true,
  })
  const { pid } = child
  const mark = pid === undefined ? undefined : markOf(pid)
  if (pid !== undefined) guard.watch(pid, mark?.startTicks ?? '0')
  const family = pid === undefined ? undefined : radioFamily(pid, mark, radioMark(command.directory))
  const gone = Promise.withResolvers<void>()
  const doubts = {
    isUnguarded: () => pid !== undefined && (isPrivilegedExec(pid) || family?.hasEscaped() === true),
    isWrapped: () => family?.isMore() === true,
  }
  const ears = radioEars(command.program, clock, doubts, listener.changed)
  // Without file descriptors there is no process and there are no streams, whatever their type says.
  const outputs: readonly (Readable | null | undefined)[] = [child.stdout, child.stderr]
  const heard = Promise.all(outputs.map((stream) => stream && ears.hear(stream)))
  let isGone = false
  let isHalting = false
  let killTimer: NodeJS.Timeout | undefined
  let killAtMs = Number.POSITIVE_INFINITY
  const escaped = (): void => {
    if (!isHalting) ears.note({ kind: 'wrapped' })
  }
  const endWatch = family?.watch(() => ears.facts().isStarted, escaped)

  const ended = async (code: number | null, signal: string | null): Promise<void> => {
    isGone = true
    const isHalted = isHalting
    guard.release()
    clearTimeout(killTimer)
    endWatch?.()
    await family?.end(isHalted ? 'asked' : 'own', escaped)
    gone.resolve()
    await Promise.race([heard, wait(LAST_WORDS_MS)])
    listener.exited({
      code: code ?? undefined,
      signal: signal ?? undefined,
      facts: ears.facts(),
      words: ears.words(),
      isHalted,
    })
  }
  child.once('exit', (code, signal) => void ended(code, signal))
  child.once('error', () => {
    ears.complain(`${LAUNCHER} (util-linux) cannot be run: not found or not permitted`)
    if (pid === undefined) void ended(127, null)
  })
  // A program that closes its input early must not end the service.
  child.stdin?.on('error', () => undefined)

  const kill = (): void => {
    if (!isGone) family?.kill()
  }
  const killIn = (ms: number): void => {
    const atMs = clock.monotonicMs() + ms
    if (isGone || atMs >= killAtMs) return
    killAtMs = atMs
    guard.killIn(ms)
    clearTimeout(killTimer)
    killTimer = setTimeout(kill, ms)
  }
  const askToEnd = (): void => {
    isHalting = true
    // Its id may mean another process by now.
    if (isGone) return
    const { stdin } = child
    if (stdin?.writable === true) stdin.end(command.program === 'srsenb' ? muteLine(command.cellId) : '')
    family?.ask()
  }
  return {
    mark,
    pid,
    get isHalting() {
      return isHalting
    },
    facts: ears.facts,
    note: ears.note,
    kill,
    halt: async (haste) => {
      const isSilent = !mayBeOnAir(ears.facts())
      // The guard first: it does not depend on what follows.
      killIn(KILL_AFTER_MS[haste])
      if (haste === 'urgent' && isSilent) kill()
      if (!isHalting) askToEnd()
      const bound = new AbortController()
      const late = wait(GONE_BOUND_MS, 'late', { signal: bound.signal }).catch(() => 'over')
      const end = await Promise.race([gone.promise, late])
      bound.abort()
      if (end === 'late') {
        throw southboundUnavailable(
          `the process ${pid ?? 0} of the radio, or one that it has started, cannot be ended: the kernel or another ` +
            'user holds it',
        )
      }
    },
  }
}
