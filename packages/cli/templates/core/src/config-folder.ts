import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** The `.json` files of a folder by name; empty when there is no folder. */
export async function readFolder(dir: string): Promise<ReadonlyMap<string, string>> {
  const files = new Map<string, string>()
  for (const name of await namesIn(dir)) files.set(name, await readFile(join(dir, name), 'utf8'))
  return files
}

/** Makes the folder hold exactly these files. Each is written beside its place and renamed, so none is ever half there. */
export async function writeFolder(dir: string, files: ReadonlyMap<string, string>): Promise<void> {
  const before = await readFolder(dir)
  await mkdir(dir, { recursive: true })
  for (const [name, content] of files) {
    if (before.get(name) === content) continue
    await writeFile(join(dir, `${name}.new`), content, { flush: true })
    await rename(join(dir, `${name}.new`), join(dir, name))
  }
  for (const name of before.keys()) if (!files.has(name)) await rm(join(dir, name), { force: true })
}

async function namesIn(dir: string): Promise<readonly string[]> {
  try {
    return (await readdir(dir)).filter((name) => name.endsWith('.json')).toSorted()
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
    throw error
  }
}
