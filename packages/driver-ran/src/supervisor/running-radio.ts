import type { Clock } from '@steeple/contracts'
import { type DeviceLock, lockDevice } from '../process/device-lock.ts'
import type { RadioExit } from '../process/exit-class.ts'
import { type KillGuard, startKillGuard } from '../process/kill-guard.ts'
import { forgetRadio, noteRadio } from '../process/orphans.ts'
import { requireLauncher } from '../process/preflight.ts'
import { type RadioProcess, startRadio } from '../process/radio-process.ts'
import { carrierFault } from '../stream/carrier-check.ts'
import type { RadioFacts } from '../stream/radio-facts.ts'
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
  readonly sinceMs: number
  readonly fault: string | undefined
  /** Kills it for a reason that another start would meet again. */
  condemn(fault: string): void
}

/** Takes device, guard and files for a start. Throws when one of them cannot be had; nothing is held then. */
export async function prepareStart(start: RadioStart, clock: Clock): Promise<StartMeans> {
  const { directory } = start.command
  await requireLauncher()
  const lock = await lockDevice(start.device)
  let guard: KillGuard | undefined
  let onGuardLost = (): void => undefined
  const release = async (): Promise<void> => {
    await Promise.all([lock.release(), guard?.close()])
  }
  try {
    await openDirectory(directory)
    await writeFiles(directory, start.plan.rendered.files)
    guard = await startKillGuard(() => onGuardLost())
  } catch (error) {
    await release()
    throw error
  }
  const held = { lock, guard }
  return {
    release,
    launch: (watch) => {
      const running = launch(start, held, clock, watch)
      onGuardLost = () => running.process.kill()
      return running
    },
  }
}

function launch(
  start: RadioStart,
  { lock, guard }: { readonly lock: DeviceLock; readonly guard: KillGuard },
  clock: Clock,
  watch: RadioWatch,
): RunningRadio {
  const { command, plan, isVirtual } = start
  const sinceMs = clock.monotonicMs()
  let fault: string | undefined
  const condemn = (why: string): void => {
    if (fault !== undefined) return
    fault = why
    radio.kill()
    watch.faulty(why)
  }
  const radio = startRadio(command, guard, clock, {
    changed: (facts) => {
      const found = faultOf(facts) ?? carrierFault(facts, plan.cell, isVirtual)
      if (found !== undefined) condemn(found)
      watch.changed()
    },
    exited: (exit) => void ended(exit),
  })
  const ended = async (exit: RadioExit): Promise<void> => {
    forgetRadio(command.directory)
    await Promise.allSettled([lock.release(), guard.close()])
    const startedMs = exit.facts.startedAtMs
    watch.exited(exit, startedMs === undefined ? 0 : clock.monotonicMs() - startedMs)
  }
  try {
    if (radio.mark !== undefined) noteRadio(command.directory, radio.mark)
  } catch {
    // A full disk: the radio carries the directory's mark in its environment as well.
  }
  return {
    start,
    process: radio,
    sinceMs,
    get fault() {
      return fault
    },
    condemn,
  }
}

function faultOf(facts: RadioFacts): string | undefined {
  return facts.isUnguarded
    ? 'the program would outlive a service that dies: it has file capabilities, is set-user-ID, or ran.binary is a ' +
        'script that starts it without exec (see docs/radio.md)'
    : undefined
}
