import { lchownSync, mkdirSync, readFileSync, renameSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { replaceFileSync } from '@steeple/contracts'

/**
 * Values by name that outlive the process: one small JSON object in the plugins directory. Synchronous: to write there may
 * be the last thing that a process does.
 */
export interface KeptMap<T> {
  read(): ReadonlyMap<string, T>
  /** Sets a value, or takes it away. The file changes whole or not at all. */
  write(key: string, value: T | undefined): void
}

/** What a map may be told beside its file. */
export interface KeptMapOptions {
  /** Access rights of the file; the owner's alone when absent. */
  readonly mode?: number
  /** Told once when the file is there and cannot be read as a map. */
  readonly onDamage?: (path: string, error: unknown) => void
}

/**
 * The map in `pluginsDir`; without such a folder nothing is kept. A file that is damaged counts as empty, and is kept beside
 * its successor as `<file>.damaged`.
 */
export function createKeptMap<T>(
  pluginsDir: string | undefined,
  file: string,
  isValue: (value: unknown) => value is T,
  { mode = 0o600, onDamage }: KeptMapOptions = {},
): KeptMap<T> {
  let isDamaged = false
  const damaged = (path: string, error: unknown): void => {
    if (!isDamaged) onDamage?.(path, error)
    isDamaged = true
  }
  const read = (): ReadonlyMap<string, T> => {
    if (pluginsDir === undefined) return new Map()
    const path = join(pluginsDir, file)
    try {
      const parsed: unknown = JSON.parse(readFileSync(path, 'utf8'))
      if (typeof parsed !== 'object' || parsed === null) throw new TypeError('it holds no JSON object')
      isDamaged = false
      return new Map(Object.entries(parsed).filter((entry): entry is [string, T] => isValue(entry[1])))
    } catch (error) {
      if ((error as { code?: unknown }).code !== 'ENOENT') damaged(path, error)
      return new Map()
    }
  }
  return {
    read,
    write: (key, value) => {
      if (pluginsDir === undefined) return
      const kept = new Map(read())
      if (kept.get(key) === value) return
      if (value === undefined) kept.delete(key)
      else kept.set(key, value)
      makeFolder(pluginsDir)
      const path = join(pluginsDir, file)
      replaceFileSync(path, `${JSON.stringify(Object.fromEntries(kept))}\n`, {
        mode,
        owner: ownerOf(pluginsDir),
        before: () => {
          if (isDamaged) renameSync(path, `${path}.damaged`)
        },
      })
    },
  }
}

/** Whom a folder belongs to, when that is to be told: only root writes for others. */
function ownerOf(dir: string): { readonly uid: number; readonly gid: number } | undefined {
  return process.getuid?.() === 0 ? statSync(dir) : undefined
}

/** What a command of root makes, the service must be able to read and to replace: it belongs to the owner of what is above. */
function makeFolder(dir: string): void {
  const top = mkdirSync(dir, { recursive: true, mode: 0o700 })
  if (top === undefined) return
  const owner = ownerOf(dirname(top))
  for (let made = dir; owner !== undefined && made.length >= top.length; made = dirname(made))
    lchownSync(made, owner.uid, owner.gid)
}
