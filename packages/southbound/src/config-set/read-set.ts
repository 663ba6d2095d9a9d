import { isUtf8 } from 'node:buffer'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { southboundUnavailable } from '@steeple/contracts'
import { openPlain } from '../logs/log-file.ts'
import { codeOf, diskError, placeOf } from './files.ts'
import { MANIFEST_NAME, type Manifest, NO_MANIFEST, parseManifest } from './manifest.ts'

/** The manifest of a directory; `isBroken` when there is one that cannot be read as one. */
interface ManifestFound {
  readonly manifest: Manifest
  readonly isBroken: boolean
}

/** Throws `southbound_unavailable` when `dir` is no directory that can be read. */
export async function readManifest(dir: string): Promise<ManifestFound> {
  const text = await guarded(dir, async () => {
    if (!(await stat(dir)).isDirectory()) throw Object.assign(new Error('no directory'), { code: 'ENOTDIR' })
    return (await bytesAt(join(dir, MANIFEST_NAME)))?.toString('utf8')
  })
  if (text === undefined) return { manifest: NO_MANIFEST, isBroken: false }
  const manifest = parseManifest(text)
  return { manifest: manifest ?? NO_MANIFEST, isBroken: manifest === undefined }
}

/**
 * The contents of those files of `dir`; a file that is not there is left out. Throws `southbound_unavailable` for one that is
 * not UTF-8: a copy of it would have lost what cannot be read.
 */
export async function readFiles(dir: string, paths: Iterable<string>): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>()
  await guarded(dir, async () => {
    for (const path of paths) {
      const place = await placeOf(dir, path)
      const bytes = await bytesAt(place)
      if (bytes === undefined) continue
      if (!isUtf8(bytes))
        throw southboundUnavailable(
          `${place} is not UTF-8; it was left as it is, save it as UTF-8 or move it away`,
        )
      found.set(path, bytes.toString('utf8'))
    }
  })
  return found
}

async function bytesAt(path: string): Promise<Buffer | undefined> {
  try {
    await using file = await openPlain(path)
    return await file.readFile()
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
