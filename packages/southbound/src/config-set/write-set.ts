import { randomBytes } from 'node:crypto'
import { chmod, mkdir, readdir, rename, rm, stat, unlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { type FileAccess, replaceFile, syncFolder, writeNewFile } from '@steeple/contracts'
import { codeOf, diskError, placeOf } from './files.ts'
import { MANIFEST_NAME, type Manifest } from './manifest.ts'

/** Owner writes, group reads: the group of the directory (set-group-ID) is the one of the core's containers. */
const NEW_FILE: FileAccess = { mode: 0o640 }
const FOLDER_MODE = 0o750
/** In front of the names of files that are not whole yet. */
const TEMPORARY = '.steeple-tmp-'

interface Staged {
  readonly temporary: string
  readonly place: string
}

/** Files that lie whole and flushed beside the places they are for. */
interface StagedFiles {
  /** Puts them in place and removes what is to go; at any time each file is the old one or the new one, whole. */
  commit(): Promise<void>
  /** Takes them away. */
  abandon(): Promise<void>
}

/**
 * Prepares that the files of `dir` become `files` (path → content; undefined removes one). A full disk is found out
 * here, where nothing has changed yet. Throws `southbound_unavailable`.
 */
export async function stageFiles(
  dir: string,
  files: ReadonlyMap<string, string | undefined>,
): Promise<StagedFiles> {
  const staged: Staged[] = []
  const abandon = async (): Promise<void> => {
    for (const { temporary } of staged) await rm(temporary, { force: true }).catch(() => undefined)
  }
  try {
    for (const [path, content] of files) if (content !== undefined) await stage(dir, path, content, staged)
  } catch (error) {
    await abandon()
    throw diskError(dir, error)
  }
  const commit = async (): Promise<void> => {
    for (const { temporary, place } of staged.splice(0)) await rename(temporary, place)
    const removed = [...files].filter(([, content]) => content === undefined)
    for (const [path] of removed) await removeFile(await placeOf(dir, path))
    for (const folder of foldersOf(dir, files.keys())) await syncFolder(folder)
  }
  return {
    abandon,
    commit: async () => {
      try {
        await commit()
      } catch (error) {
        throw diskError(dir, error)
      }
    },
  }
}

async function stage(dir: string, path: string, content: string, staged: Staged[]): Promise<void> {
  const place = await placeOf(dir, path)
  await makeFolders(dir, path)
  const temporary = temporaryName(place)
  staged.push({ temporary, place })
  await writeNewFile(temporary, content, await accessOf(place))
}

/** Makes the folders that a file of ours lies in; the process' umask must not keep the core out of them. */
async function makeFolders(dir: string, path: string): Promise<void> {
  const names = dirname(path) === '.' ? [] : dirname(path).split('/')
  for (const [at] of names.entries()) {
    const folder = join(dir, ...names.slice(0, at + 1))
    if ((await mkdir(folder, { recursive: true, mode: FOLDER_MODE })) === undefined) continue
    const { mode } = await stat(folder)
    await chmod(folder, (mode & 0o7777) | FOLDER_MODE) // the set-group-ID bit stays
  }
}

/** Replaces the manifest of `dir`, durably. */
export async function writeManifest(dir: string, manifest: Manifest): Promise<void> {
  try {
    await replaceFile(join(dir, MANIFEST_NAME), `${JSON.stringify(manifest, undefined, 2)}\n`, NEW_FILE)
  } catch (error) {
    throw diskError(dir, error)
  }
}

/** Removes what an interrupted write left in `dir` and in the folders of `paths`. */
export async function removeLeftovers(dir: string, paths: Iterable<string>): Promise<void> {
  for (const folder of foldersOf(dir, paths)) {
    const names = await readdir(folder).catch(() => [])
    for (const name of names)
      if (name.startsWith(TEMPORARY)) await rm(join(folder, name), { force: true }).catch(() => undefined)
  }
}

function foldersOf(dir: string, paths: Iterable<string>): ReadonlySet<string> {
  return new Set([dir, ...[...paths].map((path) => dirname(join(dir, path)))])
}

function temporaryName(place: string): string {
  return join(dirname(place), `${TEMPORARY}${basename(place)}-${randomBytes(6).toString('hex')}`)
}

/** Mode and owner of the file that is replaced are kept, as far as allowed. */
async function accessOf(place: string): Promise<FileAccess> {
  try {
    const { mode, uid, gid } = await stat(place)
    return { mode: mode & 0o777, owner: { uid, gid } }
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return NEW_FILE
    throw error
  }
}

async function removeFile(path: string): Promise<void> {
  try {
    await unlink(path)
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error
  }
}
