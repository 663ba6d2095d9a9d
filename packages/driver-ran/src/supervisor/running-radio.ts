import { dirname, join } from 'node:path'
import { type Clock, DISARM_NOTE } from '@steeple/contracts'
import { waitingRadio } from '../container/container-radio.ts'
import { LAUNCH_SCRIPT, launchScript } from '../container/launch-script.ts'
import { radioContainer } from '../container/radio-container.ts'
import { lockDevice } from '../process/device-lock.ts'
import type { RadioExit } from '../process/exit-class.ts'
import { radioMark } from '../process/guard-script.ts'
import { startKillGuard } from '../process/kill-guard.ts'
import { forgetRadio, noteRadio } from '../process/orphans.ts'
import { requireLauncher } from '../process/preflight.ts'
import { listed, readText } from '../process/proc-fs.ts'
import { type RadioListener, type RadioProcess, startRadio } from '../process/radio-process.ts'
import { bandwidthOf, type CellPlan } from '../render/cell-plan.ts'
import type { RadioFacts } from '../stream/radio-facts.ts'
import { openDirectory, writeFiles } from './radio-files.ts'
import type { RadioStart } from './radio-start.ts'

/** A look is taken this often at most, ms. */
const LOOK_MS = 1_000
/**
 * A radio whose samples flow wakes its threads hundreds of times a second, since a subframe takes 1 ms. One whose device
 * has stalled wakes them at the pace of its time-outs: ten times a second or not at all.
 */
const LEAST_WAKES_PER_S = 20
/** A thread that never sleeps works too: a twentieth of a processor counts as so many wakes. A tick is 10 ms. */
const WAKES_PER_TICK = 4
/** Threads that handle samples: of srsenb, and of gnb. Others go on when no samples flow. */
const SAMPLE_THREADS = /^(?:TXRX|WORKER\d+|lower_phy.*|phy_worker.*)$/

/** Progress of a radio of which nothing is known yet. */
function radioProgress() {
  let last: { readonly wakes: number; readonly atMs: number } | undefined
  let stillSinceMs: number | undefined
  let hasMoved = false
  return {
    /** One look at the process and its children. */
    look: (pid: number | undefined, nowMs: number): void => {
      if (last !== undefined && nowMs - last.atMs < LOOK_MS) return
      const wakes = pid === undefined ? undefined : wakesOf(pid)
      if (wakes === undefined) {
        last = undefined
        stillSinceMs = undefined
        return
      }
      if (last !== undefined) {
        const perSecond = (Math.abs(wakes - last.wakes) * 1_000) / (nowMs - last.atMs)
        const isMoving = perSecond >= LEAST_WAKES_PER_S
        hasMoved ||= isMoving
        stillSinceMs = isMoving ? undefined : (stillSinceMs ?? last.atMs)
      }
      last = { wakes, atMs: nowMs }
    },
    /** For how long it has done nothing; 0 while it works or is not known. */
    stillMs: (nowMs: number): number => (stillSinceMs === undefined ? 0 : nowMs - stillSinceMs),
    get hasMoved(): boolean {
      return hasMoved
    },
  }
}

type Progress = ReturnType<typeof radioProgress>

/** How often the threads that handle samples were woken, and what they worked; of all threads where none has such a name. */
function wakesOf(pid: number): number | undefined {
  const threads = [pid, ...childrenOf(pid)].flatMap(threadsOf)
  const sampling = threads.filter(({ name }) => SAMPLE_THREADS.test(name))
  const counted = sampling.length > 0 ? sampling : threads
  return counted.length === 0 ? undefined : counted.reduce((sum, { wakes }) => sum + wakes, 0)
}

function threadsOf(pid: number): readonly { readonly name: string; readonly wakes: number }[] {
  return listed(`/proc/${pid}/task`).flatMap((id) => {
    const status = readText(`/proc/${pid}/task/${id}/status`)
    const name = /^Name:\t(.*)$/m.exec(status)?.[1]
    if (name === undefined) return []
    const counts = [...status.matchAll(/ctxt_switches:\t(\d+)$/gm)].map(([, count]) => Number(count))
    const ticks = ticksOf(readText(`/proc/${pid}/task/${id}/stat`))
    return [{ name, wakes: counts.reduce((sum, count) => sum + count, ticks * WAKES_PER_TICK) }]
  })
}

/** Processor time, fields 14 and 15 of `stat`. The name in parentheses may hold blanks and parentheses itself. */
function ticksOf(stat: string): number {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return Number(fields[11] ?? 0) + Number(fields[12] ?? 0)
}

/** In a container the process that is known has started the radio. Not every kernel tells. */
function childrenOf(pid: number): readonly number[] {
  const text = readText(`/proc/${pid}/task/${pid}/children`).trim()
  return text === '' ? [] : text.split(' ').map(Number)
}

/** Of numbers in floating point, MHz. */
const SLACK_MHZ = 0.000_001

/**
 * Why a process is not what was permitted; undefined while nothing says so.
 *
 * Compares what the process itself prints: frequency, resource blocks, device, gain. It sees no offset that is less than
 * half of the last digit: 50 kHz with srsenb, 5 kHz with gnb.
 */
export function carrierFault(facts: RadioFacts, plan: CellPlan, isVirtual: boolean): string | undefined {
  if (facts.isGainIgnored) return 'the radio ignores the configured gain and sends with the receive gain'
  if (isVirtual && facts.device !== undefined && facts.device !== 'zmq') {
    return `the radio opens the device ${facts.device.slice(0, 32)} where only the virtual one is permitted`
  }
  const { carrier } = facts
  if (carrier === undefined) return undefined
  const differs = (saidMhz: number, plannedMhz: number): boolean =>
    // NaN differs from everything.
    !(Math.abs(saidMhz - plannedMhz) <= carrier.stepMhz / 2 + SLACK_MHZ)
  if (differs(carrier.downlinkMhz, plan.downlinkMhz)) {
    return `the radio sends at ${carrier.downlinkMhz} MHz where ${plan.downlinkMhz} MHz is permitted`
  }
  if (
    carrier.uplinkMhz !== undefined &&
    plan.uplinkMhz !== undefined &&
    differs(carrier.uplinkMhz, plan.uplinkMhz)
  ) {
    return `the radio's phones would send at ${carrier.uplinkMhz} MHz where ${plan.uplinkMhz} MHz is permitted`
  }
  if (carrier.bandwidthMhz !== undefined && carrier.bandwidthMhz !== plan.bandwidthMhz) {
    return `the radio uses ${carrier.bandwidthMhz} MHz of bandwidth where ${plan.bandwidthMhz} MHz are permitted`
  }
  if (carrier.resourceBlocks !== undefined && carrier.resourceBlocks !== plan.resourceBlocks) {
    const blocks = `${carrier.resourceBlocks} resource blocks where ${plan.resourceBlocks ?? 0} are permitted`
    const isMhz = bandwidthOf(carrier.resourceBlocks)
    return isMhz === undefined
      ? `the radio uses ${blocks}`
      : `the radio uses ${isMhz} MHz of bandwidth where ${plan.bandwidthMhz} MHz are permitted (${blocks})`
  }
  return undefined
}

/** What a start needs besides its settings, taken before the gate is asked for the last time. */
interface StartMeans {
  /** Gives back what no process has taken over. */
  release(): Promise<void>
  /** Starts the process in this very turn. */
  launch(watch: RadioWatch): RunningRadio
}

/** Told of a running radio. */
interface RadioWatch {
  changed(): void
  /** It is not what was permitted and is being killed. */
  faulty(fault: string): void
  /** It is gone and everything it held is free again. */
  exited(exit: RadioExit, upMs: number): void
}

/** A radio that runs, with what it holds. */
export interface RunningRadio {
  readonly start: RadioStart
  readonly process: RadioProcess
  readonly progress: Progress
  readonly sinceMs: number
  readonly fault: string | undefined
  /** Kills it for a reason that another start would meet again. */
  condemn(fault: string): void
}

/** What a radio needs besides its device: the guard of a process, or a container that waits. */
interface RadioHost {
  begin(listener: RadioListener): RadioProcess
  release(): Promise<void>
}

/** Takes device, files and host for a start. Throws when one of them cannot be had; nothing is held then. */
export async function prepareStart(start: RadioStart, clock: Clock): Promise<StartMeans> {
  const { command, container, plan } = start
  const lock = await lockDevice(start.device)
  try {
    await openDirectory(command.directory)
    await writeFiles(command.directory, plan.rendered.files)
    const host = container === undefined ? await processHost(start, clock) : await containerHost(start, clock)
    const release = async (): Promise<void> => {
      await Promise.allSettled([lock.release(), host.release()])
    }
    return { release, launch: (watch) => launch(start, { ...host, release }, clock, watch) }
  } catch (error) {
    await lock.release()
    throw error
  }
}

async function processHost({ command }: RadioStart, clock: Clock): Promise<RadioHost> {
  await requireLauncher()
  let onGuardLost = (): void => undefined
  const guard = await startKillGuard(
    { entry: radioMark(command.directory), note: join(dirname(command.directory), DISARM_NOTE.file) },
    () => onGuardLost(),
    command.leaseMs,
  )
  return {
    release: () => guard.close(),
    begin: (listener) => {
      const radio = startRadio(command, guard, clock, listener)
      onGuardLost = radio.kill
      try {
        if (radio.mark !== undefined) noteRadio(command.directory, radio.mark)
      } catch {
        // A full disk: the radio carries the directory's mark in its environment as well.
      }
      return radio
    },
  }
}

async function containerHost({ command, container }: RadioStart, clock: Clock): Promise<RadioHost> {
  const { name = '', socket = '' } = container ?? {}
  await writeFiles(command.directory, new Map([[LAUNCH_SCRIPT, launchScript(command)]]))
  const script = `${command.directory}/${LAUNCH_SCRIPT}`
  const waiting = await waitingRadio(radioContainer(socket, name), script, command.leaseMs)
  return {
    release: () => waiting.release(),
    begin: (listener) => waiting.begin(command, clock, listener),
  }
}

function launch(start: RadioStart, host: RadioHost, clock: Clock, watch: RadioWatch): RunningRadio {
  const { command, plan, isVirtual } = start
  const sinceMs = clock.monotonicMs()
  let fault: string | undefined
  const condemn = (why: string): void => {
    if (fault !== undefined) return
    fault = why
    radio.kill()
    watch.faulty(why)
  }
  const ended = async (exit: RadioExit): Promise<void> => {
    forgetRadio(command.directory)
    await host.release()
    const startedMs = exit.facts.startedAtMs
    watch.exited(exit, startedMs === undefined ? 0 : clock.monotonicMs() - startedMs)
  }
  const radio = host.begin({
    changed: (facts) => {
      const found = faultOf(facts) ?? carrierFault(facts, plan.cell, isVirtual)
      if (found !== undefined) condemn(found)
      watch.changed()
    },
    exited: (exit) => void ended(exit),
  })
  return {
    start,
    process: radio,
    progress: radioProgress(),
    sinceMs,
    get fault() {
      return fault
    },
    condemn,
  }
}

function faultOf(facts: RadioFacts): string | undefined {
  if (facts.cellFault !== undefined) return `the cell would serve no phone: ${facts.cellFault}`
  return facts.isUnguarded
    ? 'the program would outlive a service that dies: it has file capabilities, is set-user-ID, or ran.binary is a ' +
        'script that starts it without exec (see docs/how-to/radio.md)'
    : undefined
}

/** A radio says within so long which frequency it uses, ms after it says that it is on. */
const CARRIER_BOUND_MS = 5_000
/** How long a radio may take to come up, ms: the firmware of an SDR is loaded meanwhile; a virtual one has none. */
const START_BOUND_MS = 60_000
const VIRTUAL_START_BOUND_MS = 30_000
/** A radio that does nothing for so long is shown as such, and then started again, ms. */
const STALL_SHOWN_MS = 3_000
const STALL_BOUND_MS = 10_000

/** What has to be done about a radio: nothing, another start, or no more starts. */
type Overdue =
  | undefined
  | { readonly fault: string; readonly restart?: undefined }
  | { readonly restart: string; readonly fault?: undefined }

/** Why a radio that says that it is on air is not believed; undefined while its work goes on. */
export function stallOf(running: RunningRadio, nowMs: number): string | undefined {
  const stillMs = stillMsOf(running, nowMs)
  if (!running.process.facts().isStarted || stillMs < STALL_SHOWN_MS) return undefined
  return running.start.hasVirtualDevice && !hasMoved(running)
    ? 'no samples flow: nothing is connected to its ZeroMQ ports'
    : `it has made no progress for ${Math.floor(stillMs / 1_000)} s: it hangs, or its device gives no samples`
}

/** What a running radio should have said by now, or has said that only another start mends. */
export function overdue(running: RunningRadio, nowMs: number): Overdue {
  const { process: radio, sinceMs, start } = running
  const { startedAtMs, carrier, hasGivenUp, lossReason } = radio.facts()
  if (startedAtMs !== undefined && carrier === undefined && nowMs - startedAtMs > CARRIER_BOUND_MS) {
    return { fault: 'the radio does not say which frequency it uses' }
  }
  if (radio.isHalting) return undefined
  const boundMs = start.isVirtual ? VIRTUAL_START_BOUND_MS : START_BOUND_MS
  if (startedAtMs === undefined && nowMs - sinceMs > boundMs) {
    return { restart: `the radio did not come up within ${boundMs / 1_000} s` }
  }
  // A virtual radio may wait for its other end as long as it likes.
  const isStalled = startedAtMs !== undefined && stillMsOf(running, nowMs) >= STALL_BOUND_MS
  if (isStalled && (hasMoved(running) || !start.hasVirtualDevice))
    return { restart: stallOf(running, nowMs) ?? '' }
  return hasGivenUp ? { restart: lossReason ?? 'the radio has given up its core' } : undefined
}

/**
 * For how long it has done nothing. A gnb whose device gives no samples goes on looking for them, thousands of times a second;
 * but slots do not pass, and while its cell is active it tells when they do.
 */
function stillMsOf({ process: radio, progress, start }: RunningRadio, nowMs: number): number {
  const { isConnected, connectedAtMs = 0, startedAtMs = nowMs, tickedAtMs = 0 } = radio.facts()
  const isActive = start.command.program === 'gnb' && isConnected
  const silentMs = isActive ? nowMs - Math.max(startedAtMs, connectedAtMs, tickedAtMs) : 0
  return Math.max(progress.stillMs(nowMs), silentMs)
}

/** Whether samples have flowed since its start. */
function hasMoved({ process: radio, progress, start }: RunningRadio): boolean {
  return start.command.program === 'gnb' ? radio.facts().tickedAtMs !== undefined : progress.hasMoved
}
