import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

/** How one run of the command ended. */
export interface Run {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

/** The build: it starts in a third of what its sources take, and is what people run. */
export const MAIN = fileURLToPath(new URL('../dist/main.js', import.meta.url))
/**
 * An environment without the service's variables, whatever the test run has; and without its folder of compiled code, which would
 * stand in for the one that the build brings.
 */
export function cleanEnv(more: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  const entries = Object.entries(process.env).filter(
    ([name]) => !name.startsWith('SVC_') && name !== 'NODE_COMPILE_CACHE',
  )
  return { ...Object.fromEntries(entries), ...more }
}

/** Runs `svc` as a process of its own, as it is built. */
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
