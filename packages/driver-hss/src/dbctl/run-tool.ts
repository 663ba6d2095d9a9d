import { spawn } from 'node:child_process'
import { southboundUnavailable } from '@steeple/contracts'

/** The longest run and the longest output of the tool. */
const RUN_MS = 15_000
const OUTPUT_MAX = 32 * 1024 * 1024

/**
 * Runs one command of the tool, `input` on its standard input, and answers its standard output. The exit code says
 * nothing and is not looked at.
 */
export type RunTool = (args: readonly string[], signal: AbortSignal, input?: string) => Promise<string>

/**
 * Runs `path` without a shell. Arguments have been checked by the caller, since the tool pastes them into a script.
 * Throws `southbound_unavailable` when it cannot be run, hangs or talks without end.
 */
export function toolRunner(path: string, limitMs: number = RUN_MS): RunTool {
  return async (args, signal, input) => {
    signal.throwIfAborted()
    const { promise, resolve, reject } = Promise.withResolvers<string>()
    const fail = (why: string): void => reject(southboundUnavailable(`${path}: ${why}`))
    const child = spawn(path, [...args], { stdio: ['pipe', 'pipe', 'ignore'], detached: true })
    // A tool that has ended or does not read says so by its output.
    child.stdin.on('error', () => undefined)
    child.stdin.end(input)
    const parts: Buffer[] = []
    let size = 0
    child.stdout.on('data', (bytes: Buffer) => {
      parts.push(bytes)
      size += bytes.length
      if (size > OUTPUT_MAX) fail('it talks without end')
    })
    child.once('error', (error) => fail(`it cannot be run (${codeOf(error)}); see hss.dbctl_path`))
    child.once('close', () => resolve(Buffer.concat(parts).toString('utf8')))
    const timer = setTimeout(() => fail(`it did not end within ${limitMs} ms`), limitMs)
    const stop = (): void => reject(signal.reason)
    signal.addEventListener('abort', stop, { once: true })
    try {
      return await promise
    } finally {
      clearTimeout(timer)
      signal.removeEventListener('abort', stop)
      if (child.exitCode === null && child.signalCode === null) killGroup(child.pid)
    }
  }
}

/** Ends the tool and what it started. */
function killGroup(pid: number | undefined): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // It has ended meanwhile.
  }
}

function codeOf(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown } // of spawn
  return typeof code === 'string' ? code : 'unknown'
}
