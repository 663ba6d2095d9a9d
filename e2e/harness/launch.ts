import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { MAIN, withoutOwnVariables } from './builds/program.ts'

/** The root of the checkout. */
export const ROOT: string = join(dirname(fileURLToPath(import.meta.url)), '../..')
const START_LIMIT_MS = 180_000
const KEPT_CHARACTERS = 64_000_000

/** A process as a user starts it, nothing awaited. */
export interface Launched {
  readonly child: ChildProcess
  /** What it wrote so far, at most the last 64 MB. */
  stdout(): string
  stderr(): string
  /** Both, in their order. */
  output(): string
  /** Its exit code once it has ended; null after a signal. */
  readonly exited: Promise<number | null>
}

export interface LaunchOptions {
  /** `undefined` takes a variable away. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** File descriptors in place of pipes. */
  readonly stdout?: number
  readonly stderr?: number
  /** In a process group of its own, so that a test can signal all of it. */
  readonly hasOwnGroup?: boolean
  /** The script; the command line of the build when absent. */
  readonly script?: string
  /** The program of a build, in place of node and a script. */
  readonly program?: string
  /** Node's own flags. */
  readonly nodeFlags?: readonly string[]
}

/** Starts `svc <args>` with an environment without any `SVC_` variable but those given. */
export function launch(args: readonly string[], options: LaunchOptions = {}): Launched {
  const { program, script = MAIN, nodeFlags = [], env } = options
  const words = program === undefined ? [...nodeFlags, script, ...args] : args
  const child = spawn(program ?? process.execPath, words, {
    env: { ...withoutOwnVariables(), ...env },
    stdio: ['ignore', options.stdout ?? 'pipe', options.stderr ?? 'pipe'],
    detached: options.hasOwnGroup === true,
  })
  const pieces: { readonly from: 'stdout' | 'stderr'; readonly text: string }[] = []
  let length = 0
  for (const from of ['stdout', 'stderr'] as const)
    child[from]?.setEncoding('utf8').on('data', (text: string) => {
      pieces.push({ from, text })
      length += text.length
      while (length > KEPT_CHARACTERS) length -= pieces.shift()?.text.length ?? 0
    })
  const textOf = (some: typeof pieces): string => some.map(({ text }) => text).join('')
  return {
    child,
    stdout: () => textOf(pieces.filter(({ from }) => from === 'stdout')),
    stderr: () => textOf(pieces.filter(({ from }) => from === 'stderr')),
    output: () => textOf(pieces),
    exited: new Promise((resolve, reject) => {
      child.on('error', reject)
      child.on('close', (code) => resolve(code))
    }),
  }
}

/** The address that a launched service listens on, as soon as it says so, in a file where its output goes there. Throws when it ends instead. */
export async function urlOf({ child, exited, output }: Launched, outputFile?: string): Promise<string> {
  const signal = AbortSignal.timeout(START_LIMIT_MS)
  const said = (): string => (outputFile === undefined ? output() : readFileSync(outputFile, 'utf8'))
  let isOver = false
  const end = exited.then(() => {
    isOver = true
  })
  for (;;) {
    const url = /"url":"(https?:\/\/[^"]+)"/.exec(said())?.[1]
    if (url !== undefined) return url
    if (isOver) throw new Error(`the service ended with ${child.exitCode}:\n${said()}`)
    if (signal.aborted) throw new Error(`no listener within ${START_LIMIT_MS} ms:\n${said()}`)
    const more = child.stdout === null ? delay(10) : once(child.stdout, 'data', { signal })
    await Promise.race([end, more.catch(() => undefined)])
  }
}
