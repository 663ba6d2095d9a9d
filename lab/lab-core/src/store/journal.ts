import { type FileHandle, open, rename } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Values by key in one file of this process alone. */
export interface Journal<T> {
  readonly entries: ReadonlyMap<string, T>
  /** Sets or (undefined) removes a value: at once in memory, durable when it resolves. */
  put(key: string, value: T | undefined): Promise<void>
  close(): Promise<void>
}

/** Lines that nobody needs any more before the file is written anew. */
const WASTE_MAX = 20_000

/**
 * Opens or makes the journal at `path`, readable by its owner alone.
 *
 * One line `[key, value]` for each change, in one write and one sync for all that came meanwhile. The last line counts
 * for its key; a line that a power cut left half-written is dropped. Throws when the file is no journal.
 */
export async function openJournal<T>(path: string): Promise<Journal<T>> {
  const entries = await read<T>(path)
  let file = await writeWhole(path, entries)
  let lines = entries.size
  let waiting: string[] = []
  let flight: Promise<void> | undefined
  let isWhole = true
  const flush = async (): Promise<void> => {
    // What comes within this turn goes in the same write.
    await Promise.resolve()
    const batch = waiting
    waiting = []
    flight = undefined
    lines += batch.length
    if (!isWhole || lines > entries.size + WASTE_MAX) {
      const old = file
      file = await writeWhole(path, entries)
      await old.close()
      isWhole = true
      lines = entries.size
      return
    }
    // A write that fails can leave half a line, after which nothing may follow.
    isWhole = false
    await file.appendFile(batch.join(''))
    await file.datasync()
    isWhole = true
  }
  let last: Promise<void> = Promise.resolve()
  return {
    entries,
    put: async (key, value) => {
      if (value === undefined) entries.delete(key)
      else entries.set(key, value)
      waiting.push(`${JSON.stringify([key, value ?? null])}\n`)
      flight ??= last.then(flush, flush)
      last = flight
      await flight
    },
    close: async () => {
      await last.catch(() => undefined)
      await file.close()
    },
  }
}

async function read<T>(path: string): Promise<Map<string, T>> {
  const entries = new Map<string, T>()
  const file = await open(path, 'a+', 0o600)
  try {
    const text = await file.readFile('utf8')
    const lines = text.split('\n')
    // Empty after a whole last line, half a line after a power cut.
    lines.pop()
    for (const line of lines) {
      const [key, value] = entryOf<T>(line, path)
      if (value === null) entries.delete(key)
      else entries.set(key, value)
    }
  } finally {
    await file.close()
  }
  return entries
}

function entryOf<T>(line: string, path: string): readonly [string, T | null] {
  try {
    const entry: unknown = JSON.parse(line)
    if (Array.isArray(entry) && entry.length === 2 && typeof entry[0] === 'string') {
      return [entry[0], entry[1] as T | null] // written by `put`, of this type alone
    }
  } catch {
    // Said below, without the line: it can hold keys.
  }
  throw new Error(`${path} is damaged; remove it to start with an empty one`)
}

/** Writes all values into a new file in the place of the old one; it is whole at any moment. */
async function writeWhole<T>(path: string, entries: ReadonlyMap<string, T>): Promise<FileHandle> {
  const fresh = `${path}.new`
  const file = await open(fresh, 'w', 0o600)
  const lines = [...entries].map(([key, value]) => `${JSON.stringify([key, value])}\n`)
  await file.writeFile(lines.join(''))
  await file.sync()
  await rename(fresh, path)
  const folder = await open(dirname(path), 'r')
  await folder.sync()
  await folder.close()
  return file
}
