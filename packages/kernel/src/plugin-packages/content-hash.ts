import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createKeptMap, type KeptMap } from './kept-map.ts'

/** Readable by all: hashes are no secret, and a command of root must not hide them from the service. */
const READABLE = 0o644

/** SHA-256 (hex) of the content of each file, by its name in the folder. */
export type FileHashes = ReadonlyMap<string, string>

/** SHA-256 (hex) of some bytes. */
export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

/** The hashes of files in `dir`. */
export async function hashesOf(dir: string, files: readonly string[]): Promise<FileHashes> {
  const hashes = new Map<string, string>()
  for (const name of files) hashes.set(name, sha256(await readFile(join(dir, name))))
  return hashes
}

/** SHA-256 (hex) over names and contents: `<hash of content> <name>` line by line, by name. */
export function contentHash(hashes: FileHashes): string {
  const lines = [...hashes]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, hash]) => `${hash} ${JSON.stringify(name)}\n`)
  return sha256(Buffer.from(lines.join('')))
}

/**
 * What each installed folder held when it was installed, or first seen, by the folder's name: its `contentHash`, and after a
 * blank `UNDER_SETTING` where it came in by nothing but `plugins.allow_unsigned`.
 */
export function createContentRecord(pluginsDir: string | undefined): KeptMap<string> {
  return createKeptMap(pluginsDir, 'contents.json', (value) => typeof value === 'string', {
    mode: READABLE,
  })
}

/** It is loaded for as long as the configuration allows what nobody has signed. */
const UNDER_SETTING = 'while-unsigned-is-allowed'

/** An entry of the record. */
export function recordText(hash: string, isUnderSetting: boolean): string {
  return isUnderSetting ? `${hash} ${UNDER_SETTING}` : hash
}

/** What an entry of the record says; undefined without one. */
export function recordOf(
  text: string | undefined,
): { readonly hash: string; readonly isUnderSetting: boolean } | undefined {
  if (text === undefined) return undefined
  const [hash = '', condition] = text.split(' ')
  return { hash, isUnderSetting: condition === UNDER_SETTING }
}
