import { createHash, hash } from 'node:crypto'
import { lstat } from 'node:fs/promises'
import { join } from 'node:path'
import { isServiceError, type Rendered, southboundUnavailable } from '@steeple/contracts'

/** SHA-256 of a text's UTF-8, 64 hex characters. */
export function sha256Of(text: string): string {
  return hash('sha256', text)
}

/** A set of files with the hash over their names and bytes, whatever their order. */
export function renderedOf(files: ReadonlyMap<string, string>): Rendered {
  const hash = createHash('sha256')
  for (const path of [...files.keys()].sort()) {
    const content = files.get(path) ?? ''
    hash.update(`${Buffer.byteLength(path)}:${path}${Buffer.byteLength(content)}:${content}`)
  }
  return { files, sha256: hash.digest('hex') }
}

const REMEDIES: ReadonlyMap<unknown, string> = new Map([
  ['ENOENT', 'it does not exist; create it, and mount it into the containers of the core'],
  ['ENOTDIR', 'it is not a directory'],
  ['EACCES', 'this service may not write there; give it the right to'],
  ['EPERM', 'this service may not write there; give it the right to'],
  ['EROFS', 'it is on a read-only file system'],
  ['ENOSPC', 'the disk is full; make room'],
  ['EDQUOT', 'the quota is used up; make room'],
  ['EIO', 'the disk does not work'],
])

/** The code of a system error, such as `ENOENT`. */
export function codeOf(error: unknown): unknown {
  return (error as { code?: unknown } | undefined)?.code
}

/** What a failure to use `dir` means, as `southbound_unavailable` that names it and what to do. */
export function diskError(dir: string, error: unknown): Error {
  if (isServiceError(error)) return error
  const code = codeOf(error)
  const remedy = REMEDIES.get(code) ?? `it cannot be used (${String(code ?? 'unknown')})`
  return southboundUnavailable(`the directory ${dir}: ${remedy}`, { cause: error })
}

const SAFE = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}(?:\/[A-Za-z0-9_][A-Za-z0-9._-]{0,127}){0,3}$/

/** Whether a path stays in its directory by its text alone: relative, plain names, none of them hidden. */
export function isSafePath(path: string): boolean {
  return SAFE.test(path)
}

/**
 * The absolute path of a file of ours in `dir`. Throws `southbound_unavailable` when the path could lead out of it: by
 * its text, or because it or a folder on the way is a symbolic link, or when something else is in its place.
 */
export async function placeOf(dir: string, path: string): Promise<string> {
  if (!isSafePath(path))
    throw southboundUnavailable(`${JSON.stringify(path)} is no path for a configuration file`)
  const names = path.split('/')
  for (let depth = 1; depth <= names.length; depth += 1) {
    const part = names.slice(0, depth).join('/')
    const kind = await kindOf(join(dir, part))
    if (kind === 'absent') break
    const wanted = depth === names.length ? 'file' : 'directory'
    if (kind !== wanted)
      throw southboundUnavailable(
        `${join(dir, part)} is a ${kind} where a ${wanted} must be; it was left as it is, move it away`,
      )
  }
  return join(dir, path)
}

async function kindOf(path: string): Promise<string> {
  try {
    const stats = await lstat(path)
    if (stats.isSymbolicLink()) return 'symbolic link'
    if (stats.isDirectory()) return 'directory'
    return stats.isFile() ? 'file' : 'special file'
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return 'absent'
    throw error
  }
}
