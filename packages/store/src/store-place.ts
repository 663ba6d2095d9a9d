import { closeSync, existsSync, openSync, rmSync, statSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { storeInvalid } from '@steeple/contracts'

/**
 * The files of a SQLite store, held against the directory. An open file goes on when its name is taken away or given
 * to another; what is written to it then is gone with the process.
 */
export interface StorePlace {
  /** What is wrong with the directory now, in words; undefined while it holds the files that are open. */
  problem(): string | undefined
  /** Whether the database itself, without what stands beside it, is the one that is open. */
  holdsDatabase(): boolean
  /** Call when all that was committed is in the database itself. */
  saved(): void
  /** Call when all connections are closed. */
  left(): void
}

/** What a store consists of beside the database itself, while it is open. */
const WAL = '-wal'
const PARTS: readonly string[] = ['', WAL, '-shm']
/** Beside the store from the first commit on until a proper end. */
const IN_USE = '-in-use'

/** Looks after the store file at `path`, which is open. */
export function storePlace(path: string): StorePlace {
  const held = new Map<string, string>()
  let isMarked = false
  let lost: string | undefined

  const look = (part: string): string | undefined => {
    const stat = statSync(path + part, { throwIfNoEntry: false })
    const now = stat === undefined ? undefined : `${stat.dev}:${stat.ino}`
    const known = held.get(part)
    if (known !== undefined && known !== now)
      return now === undefined ? 'was removed' : 'was replaced by another file'
    if (now !== undefined) held.set(part, now)
    if (part === WAL && (stat?.size ?? 0) > 0) mark()
    return undefined
  }
  const mark = (): void => {
    if (isMarked) return
    try {
      closeSync(openSync(path + IN_USE, 'a', 0o600))
      isMarked = true
    } catch {
      // A full disk keeps nobody from serving; a missing WAL is then not noticed at the next start.
    }
  }
  const unmark = (): void => rmSync(path + IN_USE, { force: true })
  const problem = (): string | undefined => {
    lost = undefined
    for (const part of PARTS) {
      const what = look(part)
      if (what === undefined) continue
      lost = `${path}${part} ${what} while the service runs`
      return lost
    }
    return undefined
  }
  problem()
  return {
    problem,
    holdsDatabase: () => look('') === undefined && held.has(''),
    saved: unmark,
    left: () => {
      // Whoever closes last takes the WAL into the database and removes it.
      if (lost === undefined && !existsSync(path + WAL)) unmark()
    },
  }
}

/** Throws `store_invalid` when the store was in use to the last and its WAL is gone. */
export function checkWalIsThere(path: string): void {
  if (!existsSync(path + IN_USE) || !existsSync(path) || existsSync(path + WAL)) return
  const name = basename(path)
  throw storeInvalid(
    `${name}-wal is missing in ${dirname(path)} although the service did not end properly: answered changes would be lost; ` +
      `put it back beside ${name}, or restore a backup; to go on with what ${name} holds, remove ${path}${IN_USE}`,
  )
}
