import { basename, resolve } from 'node:path'
import type { CommandFile } from '@steeple/contracts'
import type { Terminal } from '../terminal.ts'
import { withProgress } from './progress.ts'
import { writeWhole } from './write-whole.ts'

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
