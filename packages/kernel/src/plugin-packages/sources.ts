import type { Stats } from 'node:fs'
import { lstat, readdir, realpath } from 'node:fs/promises'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import type { FoundPlugin, ManifestReader, RejectedPlugin } from './manifest.ts'
import {
  contentHash,
  createContentRecord,
  hashesOf,
  type Judged,
  judged,
  recordOf,
  recordText,
  type SignaturePolicy,
  type Signed,
  sha256,
  signedBy,
} from './signature.ts'

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

export interface PluginSources {
  /** Package folders that are part of the build. */
  readonly packages: readonly string[]
  /** `<data_dir>/plugins`: one folder `<id>@<version>-<sha8>` per installed version. May not exist. */
  readonly pluginsDir?: string
  /** What is installed is listed, and left alone. */
  readonly isSafeMode?: boolean
  /** Remembers what a folder holds that nobody has put on record yet: only the service does. */
  readonly adopt?: (folder: string, record: string) => void
  /** Whom the operator believes now; nobody when absent. */
  readonly policy?: () => SignaturePolicy
}

/** What a look at the sources gave. */
export interface Scan {
  readonly found: readonly FoundPlugin[]
  readonly rejected: readonly RejectedPlugin[]
}

const NOBODY: SignaturePolicy = { trust: [], allow_unsigned: false }

/** `<id>@<version>-<sha8>` */
const FOLDER = /^([a-z][a-z0-9-]*)@(.+)-([0-9a-f]{8})$/

/** What the name of an installed folder says; undefined for one that is none. */
export function installedName(
  folder: string,
): { readonly id: string; readonly version: string; readonly hash: string } | undefined {
  const [, id, version, hash] = FOLDER.exec(folder) ?? []
  return id === undefined || version === undefined || hash === undefined ? undefined : { id, version, hash }
}

/** Reads every manifest of the sources. Runs no code of theirs. */
export async function scanSources(reader: ManifestReader, sources: PluginSources): Promise<Scan> {
  const results = await Promise.all([
    ...sources.packages.map((dir) => readBundled(reader, dir)),
    ...(await readAllInstalled(reader, sources)),
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

/** The first 8 hex characters of the SHA-256 of an entry file: part of the folder's name, part of what is checked at each load. */
export function sha8(bytes: Uint8Array): string {
  return sha256(bytes).slice(0, 8)
}

/** The folder name of an installed version. */
export function folderName(id: string, version: string, hash: string): string {
  return `${id}@${version}-${hash}`
}

async function readBundled(reader: ManifestReader, dir: string): Promise<FoundPlugin | RejectedPlugin> {
  const read = await reader.read(dir, 'build')
  if (typeof read === 'string') return { dir, id: basename(dir), reason: read }
  const { name, version, steeple } = read.package
  const { entry, section } = read
  return { manifest: steeple, packageName: name, version, dir, entry, section, origin: 'bundled' }
}

async function installedFolders(pluginsDir: string | undefined): Promise<readonly string[]> {
  if (pluginsDir === undefined) return []
  try {
    const names = (await readdir(pluginsDir)).filter((name) => installedName(name) !== undefined).sort()
    return names.map((name) => join(pluginsDir, name))
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
}

async function readAllInstalled(
  reader: ManifestReader,
  { pluginsDir, adopt, policy = () => NOBODY }: PluginSources,
): Promise<readonly Promise<FoundPlugin | RejectedPlugin>[]> {
  const folders = await installedFolders(pluginsDir)
  if (pluginsDir === undefined || folders.length === 0) return []
  const untrusted = await untrustedPlace(pluginsDir)
  const recorded = createContentRecord(pluginsDir).read()
  return folders.map(async (dir) => {
    if (untrusted !== undefined) return rejection(dir, untrusted)
    return await readInstalled(reader, dir, recorded.get(basename(dir)), { adopt, policy: policy() })
  })
}

function rejection(dir: string, reason: string): RejectedPlugin {
  const { id = '', version = '' } = installedName(basename(dir)) ?? {}
  return { dir, id, version, reason }
}

async function readInstalled(
  reader: ManifestReader,
  dir: string,
  recordedText: string | undefined,
  { adopt, policy }: { readonly adopt: PluginSources['adopt']; readonly policy: SignaturePolicy },
): Promise<FoundPlugin | RejectedPlugin> {
  const { id = '', version = '', hash = '' } = installedName(basename(dir)) ?? {}
  const reject = (reason: string): RejectedPlugin => rejection(dir, reason)
  // Before anything of it is believed.
  const files = await trustedFiles(dir)
  if ('reason' in files) return reject(files.reason)
  const hashes = await hashesOf(dir, files)
  const content = contentHash(hashes)
  const recorded = recordOf(recordedText)
  if (recorded !== undefined && recorded.hash !== content)
    return reject(
      'its files are not the ones that were installed: their SHA-256 is another; remove the folder and install it again',
    )
  const signed = await signedBy(dir, hashes)
  const isLetIn = recorded !== undefined && !recorded.isUnderSetting
  const who = whoSigned(signed, isLetIn, policy)
  if ('reason' in who) return reject(who.reason)
  const read = await reader.read(dir, 'installed')
  if (typeof read === 'string') return reject(read)
  const { name, version: packageVersion, steeple } = read.package
  if (steeple.id !== id || packageVersion !== version) {
    return reject(`the folder is named ${id}@${version}, its package is ${steeple.id}@${packageVersion}`)
  }
  const unsafe = await unsafeReason(dir, [join(dir, 'package.json'), read.entry])
  if (unsafe !== undefined) return reject(unsafe)
  if (hashes.get(relative(dir, read.entry))?.startsWith(hash) !== true) {
    return reject(`the entry file is not the one that was installed: its SHA-256 does not begin with ${hash}`)
  }
  if (recorded === undefined) adopt?.(basename(dir), recordText(content, signed.kind === 'unsigned'))
  return {
    manifest: steeple,
    packageName: name,
    version,
    dir,
    entry: read.entry,
    section: read.section,
    origin: 'installed',
    sha256: hashes,
    ...(who.signedBy === undefined ? {} : { signedBy: who.signedBy }),
  }
}

/** Somebody who let it in without a signature has said so once; a signature counts while its key is trusted. */
function whoSigned(signed: Signed, isLetIn: boolean, policy: SignaturePolicy): Judged {
  if (signed.kind === 'unsigned' && isLetIn) return { signedBy: undefined }
  return judged(signed, policy)
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
