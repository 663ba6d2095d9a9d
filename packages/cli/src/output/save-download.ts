import { basename, resolve } from 'node:path'
import { type CommandFile, replaceFile } from '@steeple/contracts'
import { failure } from '../command-error.ts'
import type { Terminal } from '../terminal.ts'
import { withProgress } from './progress.ts'

const MIB = 1_048_576

/**
 * Writes what is downloaded to a file, all of it or nothing, and tells how far it is. `file`: where it is to be; else it has the name
 * that the service gives it, or `fallback`. Gives the path and the length in octets.
 */
export async function saveDownload(
  terminal: Terminal,
  what: string,
  response: CommandFile,
  { file, fallback }: { readonly file: string | undefined; readonly fallback: string },
): Promise<{ readonly path: string; readonly bytes: number }> {
  const suggested = /filename="([^"]+)"/.exec(response.headers.get('content-disposition') ?? '')?.[1]
  const path = resolve(terminal.cwd, file ?? basename(suggested ?? fallback))
  let bytes = 0
  const counted = async function* (): AsyncGenerator<Uint8Array> {
    for await (const piece of response.body) {
      bytes += piece.length
      yield piece
    }
  }
  const far = (): string => `${Math.floor(bytes / MIB)} MiB`
  await withProgress(terminal, what, () => writeWhole(what, path, counted()), far)
  return { path, bytes }
}

/** Writes a file that appears under its name when all of it is there; only its owner can read it. Throws `<what>_failed`. */
export async function writeWhole(
  what: string,
  path: string,
  chunks: AsyncIterable<Uint8Array>,
): Promise<void> {
  try {
    await replaceFile(path, chunks)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw failure(`${what}_failed`, `the ${what} did not arrive as a whole: ${reason}`, {
      hint: 'nothing is left of it; the log of the service may say more',
      cause: error,
    })
  }
}
