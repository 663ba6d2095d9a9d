import { type ChildProcess, spawn } from 'node:child_process'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { eventually } from '@steeple/testkit'
import { MAIN, withoutOwnVariables } from './builds/program.ts'
import { type Service, type StartOptions, startService } from './service.ts'

/** The root of the checkout. */
export const ROOT: string = join(dirname(fileURLToPath(import.meta.url)), '../..')

/** A process as a user starts it, nothing awaited. */
export interface Launched {
  readonly child: ChildProcess
  /** What it wrote so far. */
  stdout(): string
  stderr(): string
  /** Its exit code once it has ended; null after a signal. */
  readonly exited: Promise<number | null>
}

export interface LaunchOptions {
  readonly env?: Readonly<Record<string, string>>
  /** A file descriptor for its standard output in place of a pipe. */
  readonly stdout?: number
  /** In a process group of its own, so that a test can signal all of it. */
  readonly hasOwnGroup?: boolean
  /** The script; the command line of the build when absent. */
  readonly script?: string
}

/** Starts `svc <args>` with an environment without any `SVC_` variable but those given. */
export function launch(args: readonly string[], options: LaunchOptions = {}): Launched {
  const child = spawn(process.execPath, [options.script ?? MAIN, ...args], {
    env: { ...withoutOwnVariables(), ...options.env },
    stdio: ['ignore', options.stdout ?? 'pipe', 'pipe'],
    detached: options.hasOwnGroup === true,
  })
  const text = { stdout: '', stderr: '' }
  child.stdout?.on('data', (chunk) => {
    text.stdout += chunk
  })
  child.stderr?.on('data', (chunk) => {
    text.stderr += chunk
  })
  return {
    child,
    stdout: () => text.stdout,
    stderr: () => text.stderr,
    exited: new Promise((resolve, reject) => {
      child.on('error', reject)
      child.on('close', (code) => resolve(code))
    }),
  }
}

/** Processes that a test has started, ended after it however it ended. */
export interface Started {
  /** As `startService`. */
  start(options?: StartOptions): Promise<Service>
  launch(args: readonly string[], options?: LaunchOptions): Launched
  endAll(): void
}

/** An empty set of started processes. */
export function startedProcesses(): Started {
  const children: ChildProcess[] = []
  return {
    start: async (options) => {
      const service = await startService(options)
      children.push(service.child)
      return service
    },
    launch: (args, options) => {
      const run = launch(args, options)
      children.push(run.child)
      return run
    },
    endAll: () => {
      for (const child of children.splice(0)) if (child.exitCode === null) child.kill('SIGKILL')
    },
  }
}

/** The address that a launched service listens on, once it answers. Throws when it ended instead. */
export async function urlOf(run: Launched): Promise<string> {
  let url: string | undefined
  await eventually(async () => {
    if (run.child.exitCode !== null) return true
    url = /"url":"(https?:\/\/[^"]+)"/.exec(run.stdout())?.[1]
    return url !== undefined
  })
  if (url === undefined) throw new Error(`the service ended:\n${run.stdout()}${run.stderr()}`)
  return url
}
