import { chmod, mkdir, readdir, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { syncFolder, writeNewFile } from '@steeple/contracts'
import { codeOf, diskError, isSafePath, renderedOf } from './files.ts'

/** Copies of our own sets that are kept, beside those in use. */
const KEPT = 5
/** In the copy of a set that was rendered here. No rule removes a copy without it: nobody could make that again. */
const OURS = '.steeple-rendered'
/** `<time>-<first 8 characters of the set's hash>`. */
const NAME = /^\d{8}T\d{9}Z-([0-9a-f]{8})$/
const UNFINISHED = '.unfinished-'

interface Copy {
  readonly name: string
  readonly isNew: boolean
}

/** Where copies lie. Folders are made when they are needed. */
export interface CopyPlace {
  /** Of sets that were rendered here. */
  readonly copiesDir: string
  /** Of what others have written in the places of ours. Nothing is ever removed from it. */
  readonly originalsDir: string
}

/** Copies of configuration sets, each in a folder of its own (0700, files 0600), in which the files lie as applied. */
export interface Copies {
  /** Keeps a set that was rendered here. The copy is an older one when that has the same content. */
  keep(files: ReadonlyMap<string, string>, nowMs: number): Promise<Copy>
  /** Keeps what others have written, for good. */
  keepOriginal(files: ReadonlyMap<string, string>, nowMs: number): Promise<Copy>
  /** The names of the copies of what others have written, oldest first. */
  originals(): Promise<readonly string[]>
  /** The sets that were rendered here, of which there still are copies. */
  ownSets(): Promise<readonly ReadonlyMap<string, string>[]>
  /** The set of that name, ours or not, or undefined when it is gone or damaged. */
  read(name: string): Promise<ReadonlyMap<string, string> | undefined>
  /** Removes a copy of ours. */
  drop(name: string): Promise<void>
  /** Removes all of our copies but the newest and those in use. */
  prune(inUse: readonly (string | undefined)[]): Promise<void>
}

/** The copies in those folders. Throws `southbound_unavailable`. */
export function copiesIn({ copiesDir: dir, originalsDir }: CopyPlace): Copies {
  const guarded = async <T>(work: () => Promise<T>, place = dir): Promise<T> => {
    try {
      return await work()
    } catch (error) {
      throw diskError(place, error)
    }
  }
  return {
    keep: (files, nowMs) => guarded(() => keep(dir, files, nowMs, true)),
    keepOriginal: (files, nowMs) => guarded(() => keep(originalsDir, files, nowMs, false), originalsDir),
    originals: () => guarded(() => namesIn(originalsDir), originalsDir),
    ownSets: () =>
      guarded(async () => {
        const sets = await Promise.all((await ownNames(dir)).map((name) => read(dir, name)))
        return sets.filter((set) => set !== undefined)
      }),
    read: (name) => guarded(async () => (await read(dir, name)) ?? (await read(originalsDir, name))),
    drop: (name) => guarded(() => rm(join(dir, name), { recursive: true, force: true })),
    prune: (inUse) =>
      guarded(async () => {
        const names = await ownNames(dir)
        const old = names.slice(0, Math.max(0, names.length - KEPT)).filter((name) => !inUse.includes(name))
        const unfinished = (await entriesOf(dir)).filter((name) => name.startsWith(UNFINISHED))
        for (const name of [...old, ...unfinished])
          await rm(join(dir, name), { recursive: true, force: true })
      }),
  }
}

async function keep(
  dir: string,
  files: ReadonlyMap<string, string>,
  nowMs: number,
  isOurs: boolean,
): Promise<Copy> {
  const sha8 = renderedOf(files).sha256.slice(0, 8)
  for (const name of (await namesIn(dir)).reverse())
    if (name.endsWith(sha8) && (await read(dir, name)) !== undefined) return { name, isNew: false }
  const name = `${new Date(nowMs).toISOString().replaceAll(/[-:.]/g, '')}-${sha8}`
  const unfinished = join(dir, `${UNFINISHED}${name}`)
  await mkdir(dir, { recursive: true, mode: 0o700 })
  await rm(unfinished, { recursive: true, force: true })
  await mkdir(unfinished, { mode: 0o700 })
  await chmod(dir, 0o700)
  const folders = new Set([unfinished])
  for (const [path, content] of files) {
    const place = join(unfinished, path)
    await mkdir(dirname(place), { recursive: true, mode: 0o700 })
    folders.add(dirname(place))
    await writeNewFile(place, content)
  }
  if (isOurs) await writeNewFile(join(unfinished, OURS), '')
  for (const folder of folders) await syncFolder(folder)
  await rm(join(dir, name), { recursive: true, force: true }) // a damaged one
  await rename(unfinished, join(dir, name))
  await syncFolder(dir)
  return { name, isNew: true }
}

async function read(dir: string, name: string): Promise<ReadonlyMap<string, string> | undefined> {
  const sha8 = NAME.exec(name)?.[1]
  if (sha8 === undefined) return undefined
  const root = join(dir, name)
  const files = new Map<string, string>()
  try {
    for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name).slice(root.length + 1)
      if (entry.isFile() && isSafePath(path)) files.set(path, await readFile(join(root, path), 'utf8'))
    }
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
  return renderedOf(files).sha256.startsWith(sha8) ? files : undefined
}

async function namesIn(dir: string): Promise<string[]> {
  return (await entriesOf(dir)).filter((name) => NAME.test(name)).sort()
}

/** Of the sets that were rendered here. */
async function ownNames(dir: string): Promise<string[]> {
  const own: string[] = []
  for (const name of await namesIn(dir)) if ((await entriesOf(join(dir, name))).includes(OURS)) own.push(name)
  return own
}

async function entriesOf(dir: string): Promise<readonly string[]> {
  try {
    return await readdir(dir)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return []
    throw error
  }
}
