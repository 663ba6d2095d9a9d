import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createKeptMap, type KeptMap } from './kept-map.ts'

/** Readable by all: hashes are no secret, and a command of root must not hide them from the service. */
const READABLE = 0o644

/** SHA-256 (hex) of some bytes. */
export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

/** SHA-256 (hex) over the names and contents of files in `dir`: `<hash of content> <name>` line by line, by name. */
export async function contentHash(dir: string, files: readonly string[]): Promise<string> {
  const lines = await Promise.all(
    files
      .toSorted()
      .map(async (name) => `${sha256(await readFile(join(dir, name)))} ${JSON.stringify(name)}\n`),
  )
  return sha256(Buffer.from(lines.join('')))
}

/** What each installed folder held when it was installed, or first seen: `contentHash` by the folder's name. */
export function createContentRecord(pluginsDir: string | undefined): KeptMap<string> {
  return createKeptMap(pluginsDir, 'contents.json', (value) => typeof value === 'string', {
    mode: READABLE,
  })
}
