import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import type { RadioProfile } from '@steeple/contracts'

/** A radio process that was started. */
export interface RadioProcess {
  readonly pid: number
  /** Whether it runs still. */
  isRunning(): boolean
  /** Gone when it resolves; killed when it does not end by itself in time. */
  end(): Promise<void>
}

/** Starts the radio with a profile. Rejects when the program cannot be started. */
export type Launch = (profile: RadioProfile) => Promise<RadioProcess>

/** A process that does not end by itself in that time is killed. */
const PATIENCE_MS = 1500
/** Emits nothing; ends with its parent, when its standard input closes. */
const STAND_IN = [process.execPath, '-e', 'process.stdin.resume()']

/** Launches a program with arguments (no shell). The profile is in its environment as `RADIO_PROFILE`, JSON. */
export function launcher(command: readonly string[]): Launch {
  const [program = '', ...args] = command.length === 0 ? STAND_IN : command
  return async (profile) => {
    const child = spawn(program, args, {
      stdio: ['pipe', 'ignore', 'ignore'],
      env: { PATH: '/usr/local/bin:/usr/bin:/bin', RADIO_PROFILE: JSON.stringify(profile) },
    })
    await once(child, 'spawn')
    return radioProcess(child)
  }
}

function radioProcess(child: ChildProcess): RadioProcess {
  const gone = once(child, 'exit')
  const isRunning = (): boolean => child.exitCode === null && child.signalCode === null
  return {
    pid: child.pid ?? 0,
    isRunning,
    end: async () => {
      if (!isRunning()) return
      const late = new AbortController()
      child.kill('SIGTERM')
      const killing = wait(PATIENCE_MS, undefined, { signal: late.signal }).then(
        () => child.kill('SIGKILL'),
        () => false,
      )
      await gone
      late.abort()
      await killing
    },
  }
}
