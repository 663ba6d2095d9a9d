import type { Stats } from 'node:fs'
import { lstat, readdir, realpath } from 'node:fs/promises'
import { dirname, join, resolve, sep } from 'node:path'

/** Rights of group and others to change something. */
const FOREIGN_WRITE = 0o022
/** In such a directory (`/tmp`) nobody renames or removes what belongs to somebody else. */
const STICKY = 0o1000
const ROOT = 0

/**
 * Why what lies in the plugins directory must not be trusted: somebody else owns the directory or one above it, or may
 * change what is in there. The code in it runs with all rights of the service. Undefined: it may be trusted.
 */
export async function untrustedPlace(dir: string): Promise<string | undefined> {
  const status = await lstat(dir)
  if (status.isSymbolicLink()) return `${dir} is a symbolic link; make it a folder`
  const own = problemOf(dir, status)
  if (own !== undefined) return own
  for (const path of new Set([...above(resolve(dir)), ...above(await realpath(dir))])) {
    const problem = parentProblem(path, await lstat(path))
    if (problem !== undefined) return problem
  }
  return undefined
}

/** Every file of a plugin's folder by its name in it, sorted; or why the folder must not be trusted. */
export async function trustedFiles(dir: string): Promise<readonly string[] | { readonly reason: string }> {
  const files: string[] = []
  const status = await lstat(dir)
  if (!status.isDirectory()) return { reason: 'the folder is a link or no folder' }
  const own = problemOf(dir, status)
  if (own !== undefined) return { reason: own }
  for (const name of await readdir(dir, { recursive: true })) {
    const path = join(dir, name)
    const inside = await lstat(path)
    if (!inside.isDirectory() && !inside.isFile()) return { reason: `${name} is a link or no file` }
    const problem = problemOf(path, inside)
    if (problem !== undefined) return { reason: problem }
    if (inside.isFile()) files.push(name.split(sep).join('/'))
  }
  return files.toSorted()
}

function above(path: string): readonly string[] {
  const parent = dirname(path)
  return parent === path ? [] : [parent, ...above(parent)]
}

/** A link is as good as its owner; where it leads is looked at by itself. */
function parentProblem(path: string, status: Stats): string | undefined {
  if (status.isSymbolicLink()) return ownerProblem(path, status)
  return (status.mode & STICKY) === 0 ? problemOf(path, status) : ownerProblem(path, status)
}

function problemOf(path: string, status: Stats): string | undefined {
  const owner = ownerProblem(path, status)
  if (owner !== undefined) return owner
  if ((status.mode & FOREIGN_WRITE) === 0) return undefined
  const mode = (status.mode & 0o7777).toString(8).padStart(4, '0')
  return `${path} may be changed by others (mode ${mode}); run: chmod go-w ${path}`
}

function ownerProblem(path: string, { uid }: Stats): string | undefined {
  const own = process.getuid?.()
  if (own === undefined || uid === own || uid === ROOT) return undefined
  return `${path} belongs to user ${uid}, who is neither root nor the service (${own}); run: chown ${own} ${path}`
}
