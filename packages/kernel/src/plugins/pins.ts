import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * Versions that a rollback chose, or that stayed because a later one failed: the next start does not go forward again
 * by itself.
 */
export interface Pins {
  /** Pinned versions by plugin. */
  read(): Promise<ReadonlyMap<string, string>>
  /** Pins a plugin to a version, or takes its pin away. */
  write(id: string, version: string | undefined): Promise<void>
}

/** The file in `<data_dir>/plugins`: one JSON object, versions by plugin. */
const FILE = 'pinned.json'

/** Pins in `pluginsDir`; without such a folder nothing is kept. A file that is damaged counts as empty. */
export function createPins(pluginsDir: string | undefined): Pins {
  const read = async (): Promise<ReadonlyMap<string, string>> => {
    if (pluginsDir === undefined) return new Map()
    try {
      const parsed: unknown = JSON.parse(await readFile(join(pluginsDir, FILE), 'utf8'))
      const entries = typeof parsed === 'object' && parsed !== null ? Object.entries(parsed) : []
      return new Map(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'))
    } catch {
      return new Map()
    }
  }
  return {
    read,
    write: async (id, version) => {
      if (pluginsDir === undefined) return
      const pins = new Map(await read())
      if (pins.get(id) === version) return
      if (version === undefined) pins.delete(id)
      else pins.set(id, version)
      await mkdir(pluginsDir, { recursive: true, mode: 0o700 })
      const draft = join(pluginsDir, `.${FILE}.${process.pid}`)
      await writeFile(draft, `${JSON.stringify(Object.fromEntries(pins))}\n`, { mode: 0o600 })
      await rename(draft, join(pluginsDir, FILE))
    },
  }
}
