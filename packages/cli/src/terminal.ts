import { fstatSync, writeSync } from 'node:fs'
import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { buffer, text } from 'node:stream/consumers'

/** Where a command runs: its streams, environment and exit code. Tests may give another one. */
export interface Terminal {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  /** Columns of the screen that standard output is; undefined when it is none. */
  readonly columns: number | undefined
  /** Standard error is a screen: a person waits, and may be shown how far it is. */
  readonly isWatched: boolean
  /** Writes to standard output. */
  out(chunk: string): void
  /** Writes to standard error. */
  err(chunk: string): void
  /** Everything on standard input, as UTF-8. */
  input(): Promise<string>
  /** The same as it is. */
  octets(): Promise<Uint8Array>
  /** Asks a person for a line; absent where standard input is no terminal. What is typed is not shown with `isHidden`. */
  readonly ask?: (question: string, isHidden: boolean) => Promise<string>
  /** The command did its work and the answer is "no": the process ends with this code. */
  answer(exitCode: number): void
}

/** The terminal of this process, and the exit code that a command left there. */
export interface ProcessTerminal extends Terminal {
  exitCode(): number
  /** Resolves when whoever reads has taken everything that was written; the process may end then. */
  flushed(): Promise<void>
}

/** What was written did not arrive. */
const INCOMPLETE = 1

/**
 * The streams of this process.
 *
 * Output that cannot be written ends the process at once with exit code 1: without a word when the reader went away
 * (`svc audit list | head`), with the reason otherwise.
 */
export function processTerminal(): ProcessTerminal {
  let code = 0
  const fault = (error: NodeJS.ErrnoException): void => {
    if (error.code !== 'EPIPE') say(`svc: standard output cannot be written: ${error.message}\n`)
    process.exit(INCOMPLETE)
  }
  const out = outlet(process.stdout, fault)
  const err = outlet(process.stderr, () => process.exit(INCOMPLETE))
  return {
    env: process.env,
    cwd: process.cwd(),
    columns: process.stdout.isTTY === true ? process.stdout.columns : undefined,
    isWatched: process.stderr.isTTY === true,
    out: out.write,
    err: err.write,
    input: () => text(process.stdin),
    octets: () => buffer(process.stdin),
    ...(process.stdin.isTTY === true ? { ask } : {}),
    answer: (exitCode) => {
      code = exitCode
    },
    exitCode: () => code,
    flushed: async () => {
      await out.flushed()
      await err.flushed()
    },
  }
}

/** The last words of a process that ends now. */
function say(line: string): void {
  try {
    writeSync(process.stderr.fd, line)
  } catch {
    // There is nobody left to tell; the exit code does.
  }
}

async function ask(question: string, isHidden: boolean): Promise<string> {
  process.stderr.write(question)
  // What is typed is echoed by readline alone: into nothing when nobody is to see it.
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({
    input: process.stdin,
    output: isHidden ? nowhere : process.stderr,
    terminal: true,
  })
  try {
    return await lines.question('')
  } finally {
    lines.close()
    if (isHidden) process.stderr.write('\n')
  }
}

/** A standard stream that loses nothing: what was written is either taken or told of. */
interface Outlet {
  write(chunk: string): void
  /** Resolves when everything written so far has been taken. Never when it cannot be: `onFault` was called then. */
  flushed(): Promise<void>
}

/** What an outlet needs of a stream of the process. */
interface StandardStream {
  readonly fd: number
  write(chunk: string, done: (error?: Error | null) => void): boolean
  on(event: 'error', listener: (error: NodeJS.ErrnoException) => void): unknown
}

/**
 * An outlet into a stream of this process. `onFault` gets the first error, at the latest before `flushed` would resolve.
 *
 * A pipe may take its time: what it does not take now waits here. A file is written in full or fails; the stream would
 * take a short write of a full disk for a whole one.
 */
function outlet(stream: StandardStream, onFault: (error: NodeJS.ErrnoException) => void): Outlet {
  if (isFile(stream.fd)) {
    return {
      write: (chunk) => {
        try {
          writeAll(stream.fd, Buffer.from(chunk))
        } catch (error) {
          // What `fs` throws has a code.
          onFault(error as NodeJS.ErrnoException)
        }
      },
      flushed: async () => {},
    }
  }
  stream.on('error', onFault)
  return {
    write: (chunk) => void stream.write(chunk, () => {}),
    flushed: () =>
      new Promise((taken) => {
        stream.write('', (error) => {
          if (error === undefined || error === null) taken()
        })
      }),
  }
}

function isFile(fd: number): boolean {
  try {
    return fstatSync(fd).isFile()
  } catch {
    return false
  }
}

function writeAll(fd: number, bytes: Uint8Array): void {
  let done = 0
  while (done < bytes.length) done += writeSync(fd, bytes, done)
}
