import { statSync } from 'node:fs'

/**
 * The files of a SQLite store, held against the directory. An open file goes on when its name is taken away or given
 * to another; what is written to it then is gone with the process.
 */
export interface StorePlace {
  /** What is wrong with the directory now, in words; undefined while it holds the files that are open. */
  problem(): string | undefined
  /** Whether the database itself, without what stands beside it, is the one that is open. */
  holdsDatabase(): boolean
}

/** What a store consists of beside the database itself, while it is open. */
const PARTS: readonly string[] = ['', '-wal', '-shm']

/** Looks after the store file at `path`, which is open. */
export function storePlace(path: string): StorePlace {
  const held = new Map<string, string>()
  const look = (part: string): string | undefined => {
    const stat = statSync(path + part, { throwIfNoEntry: false })
    const now = stat === undefined ? undefined : `${stat.dev}:${stat.ino}`
    const known = held.get(part)
    if (known !== undefined && known !== now)
      return now === undefined ? 'was removed' : 'was replaced by another file'
    if (now !== undefined) held.set(part, now)
    return undefined
  }
  const problem = (): string | undefined => {
    for (const part of PARTS) {
      const what = look(part)
      if (what !== undefined) return `${path}${part} ${what} while the service runs`
    }
    return undefined
  }
  problem()
  return {
    problem,
    holdsDatabase: () => look('') === undefined && held.has(''),
  }
}
