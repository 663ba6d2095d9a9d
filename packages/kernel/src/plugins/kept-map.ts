import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Texts by name that outlive the process: one small JSON object in the plugins directory. */
export interface KeptMap {
  read(): Promise<ReadonlyMap<string, string>>
  /** Sets a text, or takes it away. The file changes whole or not at all. */
  write(key: string, text: string | undefined): Promise<void>
}

/** The map in `pluginsDir`; without such a folder nothing is kept. A file that is damaged counts as empty. */
export function createKeptMap(pluginsDir: string | undefined, file: string): KeptMap {
  const read = async (): Promise<ReadonlyMap<string, string>> => {
    if (pluginsDir === undefined) return new Map()
    try {
      const parsed: unknown = JSON.parse(await readFile(join(pluginsDir, file), 'utf8'))
      const entries = typeof parsed === 'object' && parsed !== null ? Object.entries(parsed) : []
      return new Map(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'))
    } catch {
      return new Map()
    }
  }
  return {
    read,
    write: async (key, text) => {
      if (pluginsDir === undefined) return
      const kept = new Map(await read())
      if (kept.get(key) === text) return
      if (text === undefined) kept.delete(key)
      else kept.set(key, text)
      await mkdir(pluginsDir, { recursive: true, mode: 0o700 })
      const draft = join(pluginsDir, `.${file}.${process.pid}`)
      await writeFile(draft, `${JSON.stringify(Object.fromEntries(kept))}\n`, { mode: 0o600 })
      await rename(draft, join(pluginsDir, file))
    },
  }
}
