import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { openPlain } from '../open-plain.ts'
import { codeOf, diskError } from './disk-errors.ts'
import { MANIFEST_NAME, type Manifest, NO_MANIFEST, parseManifest } from './manifest.ts'
import { placeOf } from './paths.ts'

/** The manifest of a directory; `isBroken` when there is one that cannot be read as one. */
export interface ManifestFound {
  readonly manifest: Manifest
  readonly isBroken: boolean
}

/** Throws `southbound_unavailable` when `dir` is no directory that can be read. */
export async function readManifest(dir: string): Promise<ManifestFound> {
  const text = await guarded(dir, async () => {
    if (!(await stat(dir)).isDirectory()) throw Object.assign(new Error('no directory'), { code: 'ENOTDIR' })
    return await textAt(join(dir, MANIFEST_NAME))
  })
  if (text === undefined) return { manifest: NO_MANIFEST, isBroken: false }
  const manifest = parseManifest(text)
  return { manifest: manifest ?? NO_MANIFEST, isBroken: manifest === undefined }
}

/** The contents of those files of `dir`; a file that is not there is left out. */
export async function readFiles(dir: string, paths: Iterable<string>): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>()
  await guarded(dir, async () => {
    for (const path of paths) {
      const text = await textAt(await placeOf(dir, path))
      if (text !== undefined) found.set(path, text)
    }
  })
  return found
}

async function textAt(path: string): Promise<string | undefined> {
  try {
    await using file = await openPlain(path)
    return await file.readFile('utf8')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

async function guarded<T>(dir: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw diskError(dir, error)
  }
}
