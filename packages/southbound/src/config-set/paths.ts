import { lstat } from 'node:fs/promises'
import { join } from 'node:path'
import { southboundUnavailable } from '@steeple/contracts'
import { codeOf } from './disk-errors.ts'

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
