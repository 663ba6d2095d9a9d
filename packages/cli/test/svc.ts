import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

/** How one run of the command ended. */
export interface Run {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

export const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url))
/** Starting a process on a busy machine takes its time. */
export const PROCESS_LIMIT = { limitMs: 360_000 }

/** An environment without the service's variables, whatever the test run has. */
export function cleanEnv(more: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  const entries = Object.entries(process.env).filter(([name]) => !name.startsWith('SVC_'))
  return { ...Object.fromEntries(entries), ...more }
}

/** Runs `svc` as a process of its own, from source. */
export async function svc(
  args: readonly string[],
  options: {
    readonly env?: Readonly<Record<string, string>>
    readonly input?: string
    readonly cwd?: string
  } = {},
): Promise<Run> {
  const child = spawn(process.execPath, ['--no-warnings', MAIN, ...args], {
    env: cleanEnv(options.env),
    cwd: options.cwd,
    stdio: 'pipe',
  })
  child.stdin.on('error', () => {})
  child.stdin.end(options.input ?? '')
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve))
  const [out, err, code] = await Promise.all([text(child.stdout), text(child.stderr), ended])
  return { code, out, err }
}
