import { dirname, join } from 'node:path'
import { type Clock, DISARM_NOTE } from '@steeple/contracts'
import { waitingRadio } from '../container/container-radio.ts'
import { LAUNCH_SCRIPT, launchScript } from '../container/launch-script.ts'
import { radioContainer } from '../container/radio-container.ts'
import { lockDevice } from '../process/device-lock.ts'
import type { RadioExit } from '../process/exit-class.ts'
import { startKillGuard } from '../process/kill-guard.ts'
import { forgetRadio, noteRadio } from '../process/orphans.ts'
import { requireLauncher } from '../process/preflight.ts'
import { radioMark } from '../process/radio-command.ts'
import { type RadioListener, type RadioProcess, startRadio } from '../process/radio-process.ts'
import { carrierFault } from '../stream/carrier-check.ts'
import type { RadioFacts } from '../stream/radio-facts.ts'
import { type Progress, radioProgress } from '../watch/progress.ts'
import { openDirectory, writeFiles } from './radio-files.ts'
import type { RadioStart } from './radio-start.ts'

/** What a start needs besides its settings, taken before the gate is asked for the last time. */
export interface StartMeans {
  /** Gives back what no process has taken over. */
  release(): Promise<void>
  /** Starts the process in this very turn. */
  launch(watch: RadioWatch): RunningRadio
}

/** Told of a running radio. */
export interface RadioWatch {
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
