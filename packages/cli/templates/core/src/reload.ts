import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { coreConfigRefused } from '@steeple/contracts'

/** Makes the core read its files again. Throws `core_config_refused` when it refuses them. */
export type Reload = (signal: AbortSignal) => Promise<void>

const RELOAD_LIMIT_MS = 30_000

/** Reloads by a program with arguments (no shell); does nothing when there is none. */
export function reloadBy(command: readonly string[]): Reload {
  const [program, ...args] = command
  const run = promisify(execFile)
  return async (signal) => {
    if (program === undefined) return
    try {
      await run(program, args, { signal, timeout: RELOAD_LIMIT_MS, maxBuffer: 1024 * 1024 })
    } catch (cause) {
      signal.throwIfAborted()
      throw coreConfigRefused(`the core did not take its configuration: ${program} failed`, { cause })
    }
  }
}
