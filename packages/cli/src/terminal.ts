import { text } from 'node:stream/consumers'

/** Where a command runs: its streams, environment and exit code. Tests may give another one. */
export interface Terminal {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  /** Writes to standard output. */
  out(chunk: string): void
  /** Writes to standard error. */
  err(chunk: string): void
  /** Everything on standard input, as UTF-8. */
  input(): Promise<string>
  /** The command did its work and the answer is "no": the process ends with this code. */
  answer(exitCode: number): void
}

/** The terminal of this process, and the exit code that a command left there. */
export interface ProcessTerminal extends Terminal {
  exitCode(): number
}

/**
 * The streams of this process.
 *
 * A reader that goes away (`svc audit list | head`) ends the process at once with exit code 0 and without a stack
 * trace, as with SIGPIPE.
 */
export function processTerminal(): ProcessTerminal {
  let code = 0
  for (const stream of [process.stdout, process.stderr])
    stream.on('error', (error: NodeJS.ErrnoException) => {
      process.exit(error.code === 'EPIPE' ? 0 : 1)
    })
  return {
    env: process.env,
    cwd: process.cwd(),
    out: (chunk) => void process.stdout.write(chunk),
    err: (chunk) => void process.stderr.write(chunk),
    input: () => text(process.stdin),
    answer: (exitCode) => {
      code = exitCode
    },
    exitCode: () => code,
  }
}
