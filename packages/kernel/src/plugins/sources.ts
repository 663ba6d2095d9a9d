import { createHash } from 'node:crypto'
import { lstat, readdir, readFile, realpath } from 'node:fs/promises'
import { basename, join, relative, sep } from 'node:path'
import type { FoundPlugin, ManifestReader, RejectedPlugin } from './manifest.ts'

/** Where plugins are looked for. */
export interface PluginSources {
  /** Package folders that are part of the build. */
  readonly packages: readonly string[]
  /** `<data_dir>/plugins`: one folder `<id>@<version>-<sha8>` per installed version. May not exist. */
  readonly pluginsDir?: string
}

/** What a look at the sources gave. */
export interface Scan {
  readonly found: readonly FoundPlugin[]
  readonly rejected: readonly RejectedPlugin[]
}

/** `<id>@<version>-<sha8>` */
const FOLDER = /^([a-z][a-z0-9-]*)@(.+)-([0-9a-f]{8})$/

/** Reads every manifest of the sources. Runs no code of theirs. */
export async function scanSources(reader: ManifestReader, sources: PluginSources): Promise<Scan> {
  const results = await Promise.all([
    ...sources.packages.map((dir) => readBundled(reader, dir)),
    ...(await installedFolders(sources.pluginsDir)).map((dir) => readInstalled(reader, dir)),
  ])
  const found: FoundPlugin[] = []
  const rejected: RejectedPlugin[] = []
  for (const result of results) {
    if ('reason' in result) rejected.push(result)
    else found.push(result)
  }
  return { found: found.map((one) => withRank(one, found)), rejected }
}

/** Essential is what the build says: an installed version takes that over from the one in whose place it comes. */
function withRank(found: FoundPlugin, all: readonly FoundPlugin[]): FoundPlugin {
  if (found.origin === 'bundled') return found
  const own = all.find(({ origin, manifest }) => origin === 'bundled' && manifest.id === found.manifest.id)
  return { ...found, manifest: { ...found.manifest, essential: own?.manifest.essential === true } }
}

/** The first 8 hex characters of the SHA-256 of an entry file: part of the folder's name, checked at each load. */
export function sha8(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex').slice(0, 8)
}

/** The folder name of an installed version. */
export function folderName(id: string, version: string, hash: string): string {
  return `${id}@${version}-${hash}`
}

async function readBundled(reader: ManifestReader, dir: string): Promise<FoundPlugin | RejectedPlugin> {
  const read = await reader.read(dir)
  if (typeof read === 'string') return { dir, id: basename(dir), reason: read }
  const { name, version, steeple } = read.package
  return { manifest: steeple, packageName: name, version, dir, entry: read.entry, origin: 'bundled' }
}

async function installedFolders(pluginsDir: string | undefined): Promise<readonly string[]> {
  if (pluginsDir === undefined) return []
  try {
    const names = (await readdir(pluginsDir)).filter((name) => FOLDER.test(name)).sort()
    return names.map((name) => join(pluginsDir, name))
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
}

async function readInstalled(reader: ManifestReader, dir: string): Promise<FoundPlugin | RejectedPlugin> {
  const [, id = '', version = '', hash = ''] = FOLDER.exec(basename(dir)) ?? []
  const reject = (reason: string): RejectedPlugin => ({ dir, id, version, reason })
  const read = await reader.read(dir)
  if (typeof read === 'string') return reject(read)
  const { name, version: packageVersion, steeple } = read.package
  if (steeple.id !== id || packageVersion !== version) {
    return reject(`the folder is named ${id}@${version}, its package is ${steeple.id}@${packageVersion}`)
  }
  const unsafe = await unsafeReason(dir, [join(dir, 'package.json'), read.entry])
  if (unsafe !== undefined) return reject(unsafe)
  if (sha8(await readFile(read.entry)) !== hash) {
    return reject(`the entry file is not the one that was installed: its SHA-256 does not begin with ${hash}`)
  }
  return {
    manifest: steeple,
    packageName: name,
    version,
    dir,
    entry: read.entry,
    origin: 'installed',
    sha8: hash,
  }
}

/** Why files of a plugin folder must not be trusted: links, paths out of the folder, writable by everybody. */
export async function unsafeReason(dir: string, files: readonly string[]): Promise<string | undefined> {
  if (!(await lstat(dir)).isDirectory()) return 'the folder is a link or no folder'
  const root = await realpath(dir)
  for (const file of files) {
    const name = relative(dir, file)
    try {
      const status = await lstat(file)
      if (!status.isFile()) return `${name} is a link or no file`
      if ((status.mode & 0o002) !== 0) return `${name} may be changed by everybody; run chmod o-w on it`
      if (!(await realpath(file)).startsWith(root + sep)) return `${name} lies outside of the folder`
    } catch (error) {
      if (isMissing(error)) return `${name} is missing; build the package first`
      throw error
    }
  }
  return undefined
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}
