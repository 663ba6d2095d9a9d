import { fstatSync, writeSync } from 'node:fs'

/** A standard stream that loses nothing: what was written is either taken or told of. */
export interface Outlet {
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
export function outlet(stream: StandardStream, onFault: (error: NodeJS.ErrnoException) => void): Outlet {
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
