import { type ChildProcess, spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { constants } from 'node:os'
import type { Duplex, Readable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import { type Clock, southboundUnavailable, untilAborted } from '@steeple/contracts'
import type { RadioEvent } from '../stream/radio-event.ts'
import { mayBeOnAir, type RadioFacts } from '../stream/radio-facts.ts'
import { muteLine } from '../stream/srsenb-line.ts'
import { descendantsOf, stopAll } from './descendants.ts'
import type { RadioExit } from './exit-class.ts'
import {
  guardedArguments,
  LAUNCHER,
  type RadioCommand,
  radioEnvironment,
  radioMark,
  renewLease,
} from './guard-script.ts'
import type { KillGuard } from './kill-guard.ts'
import { isPrivilegedExec, markOf, type ProcessMark } from './proc-fs.ts'
import { radioMonitor } from './radio-monitor.ts'

const END_POLL_MS = 20
const END_POLL_MAX_MS = 1_000
/**
 * Looks in turn that find nothing before nothing is left: in the moment of an exec a process has no environment, which
 * lasts long where the processor is busy. Somebody waits for an end that was asked for.
 */
const QUIET_LOOKS = { asked: 5, own: 10 } as const
/** When a look is taken after a start, ms: at first, until it is on air, and from then on. */
const FIRST_LOOK_MS = 100
const STARTING_LOOK_MS = 1_000
const LATER_LOOK_MS = 5_000

/** A radio's guard, its process and all that this has started, in their process groups or out of them. */
interface RadioFamily {
  /** The ids of all of it that is there now. */
  members(): readonly number[]
  /** Whether something is out of the process groups. */
  hasEscaped(): boolean
  /** Whether anything besides the guard and the radio's own process runs. */
  isMore(): boolean
  /** Asks the radio to end. What is out of its group is killed: it would not hear. */
  ask(): void
  /** Kills all of it that is there now. */
  kill(): void
  /**
   * The guard was waited for: kills what is left until nothing is, however long that takes. `escaped` is
   * called whenever there is some of that, the first time in the same turn. `how`: whether the end was asked for.
   */
  end(how: keyof typeof QUIET_LOOKS, escaped: () => void): Promise<void>
  /** Looks every now and then whether something has left the group, until the function that it returns is called. */
  watch(isOnAir: () => boolean, escaped: () => void): () => void
}

/** The family of the guard `root`, which leads its group. `entry`: what its environment holds. */
export function radioFamily(root: number, mark: ProcessMark | undefined, entry: string): RadioFamily {
  const lineage = { root, sinceTicks: Number(mark?.startTicks ?? 0), entry, self: process.pid }
  const look = descendantsOf({ readdirSync, readFileSync }, lineage)
  let isWaitedFor = false
  const hasEscaped = (): boolean => look(true).some(({ isOutside }) => isOutside)
  /** How many there were. */
  const kill = (): number => {
    // Before the group dies: a child of a dead process has another parent.
    const near = stopAll(() => look(false), stop)
    // Once it was waited for, its id is kept from others only by members of its group.
    if (!isWaitedFor || near.some(({ isOutside }) => !isOutside)) send(-root, 'SIGKILL')
    for (const { pid } of near) send(pid, 'SIGKILL')
    const left = stopAll(() => look(true), stop)
    for (const { pid } of left) send(pid, 'SIGKILL')
    return near.length + left.length
  }
  return {
    members: () => look(true).map(({ pid }) => pid),
    hasEscaped,
    isMore: () => look(true).some(({ pid, parent }) => pid !== root && parent !== root),
    ask: () => {
      for (const { pid, isOutside } of look(true)) {
        if (pid !== root) send(pid, isOutside ? 'SIGKILL' : 'SIGTERM')
      }
    },
    kill,
    end: async (how, escaped) => {
      isWaitedFor = true
      await endAll(() => {
        const found = kill()
        // What is still in the group may have been about to leave it: a radio has nothing that outlives it.
        if (found > 0) escaped()
        return found
      }, QUIET_LOOKS[how])
    },
    watch: (isOnAir, escaped) => {
      let next: NodeJS.Timeout
      const lookIn = (ms: number): void => {
        next = setTimeout(() => {
          if (hasEscaped()) escaped()
          lookIn(isOnAir() ? LATER_LOOK_MS : STARTING_LOOK_MS)
        }, ms).unref()
      }
      lookIn(FIRST_LOOK_MS)
      return () => clearTimeout(next)
    },
  }
}

/** Kills until `quietLooks` in turn have found none. */
async function endAll(kill: () => number, quietLooks: number): Promise<void> {
  let pauseMs = END_POLL_MS
  for (let quiet = kill() === 0 ? 1 : 0; quiet < quietLooks; ) {
    await wait(quiet === 0 ? pauseMs : END_POLL_MS)
    pauseMs = Math.min(pauseMs * 1.3, END_POLL_MAX_MS)
    quiet = kill() === 0 ? quiet + 1 : 0
  }
}

function stop(pid: number): void {
  send(pid, 'SIGSTOP')
}

function send(target: number, signal: NodeJS.Signals): void {
  try {
    process.kill(target, signal)
  } catch {
    // gone meanwhile, or another user's: then it is found again
  }
}

/**
 * How fast a radio must be gone. `urgent`: off air within half a second whatever it does. `orderly`: it may go on, a while
 * longer, to close its device; for stops with an open gate.
 */
export type Haste = 'urgent' | 'orderly'

/** When each haste kills, ms after it began. One that is not on air yet has nothing to close: it is killed at once. */
export const KILL_AFTER_MS: Readonly<Record<Haste, number>> = { urgent: 200, orderly: 3_500 }
/** The whole of a stop, ms. A process that the kernel cannot end (a driver that hangs) outlives it. */
export const GONE_BOUND_MS = 6_200
/** How long the last words are waited for after the end, ms. */
const LAST_WORDS_MS = 250

/** Told of what a radio says and of its end. Both are called outside of any call of the radio's own methods. */
export interface RadioListener {
  changed(facts: RadioFacts): void
  exited(exit: RadioExit): void
}

export interface RadioProcess {
  /** Of what was started: the guard of a process. */
  readonly mark: ProcessMark | undefined
  /** Process id of the radio on this machine; undefined when it has none that is known. */
  readonly pid: number | undefined
  readonly isHalting: boolean
  facts(): RadioFacts
  /** What it has complained of in the last minute; undefined when nothing. */
  complaints(): string | undefined
  /** Adds what was heard elsewhere than in its output. */
  note(event: RadioEvent): void
  /** Kills it in this very turn. */
  kill(): void
  /** Resolves when it and everything it started is gone; rejects with `southbound_unavailable` when that is not certain. */
  halt(haste: Haste): Promise<void>
}

/** Starts a radio in this very turn, under its guards, with the parent-death signal. Never throws: it exits instead. */
export function startRadio(
  command: RadioCommand,
  guard: KillGuard,
  clock: Clock,
  listener: RadioListener,
): RadioProcess {
  const child = launch(command)
  const { pid: root } = child
  const { mark, family } = root === undefined ? NO_PROCESS : guarded(root, guard, command)
  const gone = Promise.withResolvers<void>()
  const monitor = radioMonitor(command.program, clock, doubtsOf(family), listener.changed)
  const heard = Promise.all(outputsOf(child).map((stream) => monitor.hear(stream)))
  let isGone = false
  let isHalting = false
  const escaped = (): void => {
    if (!isHalting) monitor.note({ kind: 'wrapped' })
  }
  const endWatch = family?.watch(() => monitor.facts().isStarted, escaped)
  const kill = (): void => {
    if (!isGone) family?.kill()
  }
  const deadline = killDeadline(guard, clock, kill)
  const lease = leaseOf(child, command, () => {
    monitor.complain('the guard of the radio does not answer, so the radio is killed')
    kill()
  })

  const ended = async (code: number | null, signal: string | null): Promise<void> => {
    isGone = true
    const isHalted = isHalting
    guard.release()
    deadline.over()
    endWatch?.()
    lease.end?.()
    // A guard that was killed leaves what dies with it for a moment: that has not escaped.
    await family?.end(isHalted ? 'asked' : 'own', signal === null ? escaped : () => undefined)
    gone.resolve()
    await Promise.race([heard, wait(LAST_WORDS_MS)])
    listener.exited({ ...endOf(code, signal), facts: monitor.facts(), ...monitor.said(), isHalted })
  }
  child.once('exit', (code, signal) => void ended(code, signal))
  child.once('error', () => {
    monitor.complain(`${LAUNCHER} (util-linux) cannot be run: not found or not permitted`)
    if (root === undefined) void ended(127, null)
  })
  // A program that closes its input early must not end the service.
  child.stdin?.on('error', () => undefined)

  const askToEnd = (): void => {
    isHalting = true
    // Its id may mean another process by now.
    if (isGone) return
    if (child.stdin?.writable === true) child.stdin.end(lastLine(command))
    family?.ask()
  }
  return {
    mark,
    get pid() {
      // Until the guard has told it, in the first moments, the guard stands for its radio: who ends it ends both.
      return isGone ? undefined : (lease.radio() ?? root)
    },
    get isHalting() {
      return isHalting
    },
    facts: monitor.facts,
    complaints: monitor.complaints,
    note: monitor.note,
    kill,
    halt: async (haste) => {
      // The guard first: it does not depend on what follows.
      deadline.in(KILL_AFTER_MS[haste])
      if (haste === 'urgent' && !mayBeOnAir(monitor.facts())) kill()
      if (!isHalting) askToEnd()
      await goneInTime(gone.promise, lease.radio() ?? root ?? 0)
    },
  }
}

function launch(command: RadioCommand): ChildProcess {
  return spawn(LAUNCHER, guardedArguments(command, process.pid), {
    cwd: command.directory,
    env: radioEnvironment(command.directory),
    stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
    // Its own process group: a Ctrl-C meant for the service does not reach it, and a kill reaches all of it.
    detached: true,
  })
}

/** Without file descriptors there is no process and there are no streams, whatever their type says. */
function outputsOf(child: ChildProcess): readonly Readable[] {
  const outputs: readonly (Readable | null | undefined)[] = [child.stdout, child.stderr]
  return outputs.filter((stream) => stream != null)
}

function lastLine(command: RadioCommand): string {
  return command.program === 'srsenb' ? muteLine(command.cellId) : ''
}

/** What there is of a program that could not be started. */
const NO_PROCESS = { mark: undefined, family: undefined }

function guarded(root: number, guard: KillGuard, { directory }: RadioCommand) {
  const mark = markOf(root)
  guard.watch(root, mark?.startTicks ?? '0')
  return { mark, family: radioFamily(root, mark, radioMark(directory)) }
}

function doubtsOf(family: RadioFamily | undefined): Parameters<typeof radioMonitor>[2] {
  return {
    isUnguarded: () => family?.members().some(isPrivilegedExec) === true || family?.hasEscaped() === true,
    isWrapped: () => family?.isMore() === true,
  }
}

/**
 * Renews the lease of the radio over its fourth stream, of which the type does not tell; there is none without a process. The
 * guard at its other end tells which process the radio is.
 */
function leaseOf(
  child: ChildProcess,
  { leaseMs }: RadioCommand,
  lost: () => void,
): { readonly radio: () => number | undefined; readonly end: (() => void) | undefined } {
  let pid: number | undefined
  const radio = (found: number): void => {
    pid = found
  }
  const beats = child.stdio[3] as Duplex | null | undefined
  const end = beats ? renewLease(beats, leaseMs, { radio, lost }) : undefined
  return { radio: () => pid, end }
}

/** When the radio is killed, by its guard and by this process: at the earliest of the times that were said. */
function killDeadline(
  guard: KillGuard,
  clock: Clock,
  kill: () => void,
): { in(ms: number): void; over(): void } {
  let timer: NodeJS.Timeout | undefined
  let atMs = Number.POSITIVE_INFINITY
  return {
    in: (ms) => {
      const nextMs = clock.monotonicMs() + ms
      if (nextMs >= atMs) return
      atMs = nextMs
      guard.killIn(ms)
      clearTimeout(timer)
      timer = setTimeout(kill, ms)
    },
    over: () => {
      atMs = Number.NEGATIVE_INFINITY
      clearTimeout(timer)
    },
  }
}

/** Rejects with `southbound_unavailable` when the end is not there within `GONE_BOUND_MS`. */
async function goneInTime(gone: Promise<void>, pid: number): Promise<void> {
  await untilAborted(gone, AbortSignal.timeout(GONE_BOUND_MS)).catch((cause: unknown) => {
    throw southboundUnavailable(
      `the process ${pid} of the radio, or one that it has started, cannot be ended: the kernel or another ` +
        'user holds it',
      { cause },
    )
  })
}

/** What a shell adds to the number of the signal that has ended its child. */
const SIGNALLED = 128

/** How the radio ended by how its guard did: that ends as a shell does whose last command the radio was. */
function endOf(code: number | null, signal: string | null): Pick<RadioExit, 'code' | 'signal'> {
  const number = (code ?? 0) - SIGNALLED
  const [name] = Object.entries(constants.signals).find(([, value]) => value === number) ?? []
  if (name !== undefined) return { code: undefined, signal: name }
  return { code: code ?? undefined, signal: signal ?? undefined }
}
