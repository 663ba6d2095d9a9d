import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import {
  chmod,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  rmdir,
  stat,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join, posix, resolve } from 'node:path'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { createTurns, pluginFailed, pluginStateConflict } from '@steeple/contracts'
import { unpackTar } from 'modern-tar'
import { folderName } from './manifest.ts'
import { hashesOfContents, type PackageContents, readPackage, unsigned } from './pack.ts'
import {
  contentHash,
  createContentRecord,
  hashesOf,
  judged,
  recordOf,
  recordText,
  type SignaturePolicy,
  sha8,
  trustedFiles,
  untrustedPlace,
} from './trust.ts'

/** What npm and pnpm put before each name in a package. */
const ROOT = 'package/'
/** No plugin is larger; what is unpacks into the memory of this process. */
const MOST_BYTES: number = 64 * 1024 * 1024
/** A plugin is one program, its manifest and a few texts. */
const MOST_FILES = 1000

/**
 * Unpacks a package (`.tgz`) into a temporary folder of this user, for as long as `work` takes. Regular files alone: links,
 * devices and names that lead out of the package are passed over.
 *
 * Throws `plugin_failed` (check) for what is no such package.
 */
async function withUnpacked<T>(file: string, work: (dir: string) => Promise<T>): Promise<T> {
  const refuse = (reason: string, cause?: unknown): Error =>
    pluginFailed(basename(file), 'check', reason, { cause })
  const status = await stat(file).catch((cause: unknown) => {
    throw refuse('there is no such file', cause)
  })
  // A pipe would be waited for.
  if (!status.isFile()) throw refuse('it is no file')
  if (status.size > MOST_BYTES) throw refuse(`it is larger than ${MOST_BYTES} bytes`)
  return await withUnpackedBytes(basename(file), await readFile(file), work)
}

/** One package at a time: each may come to `MOST_BYTES` in memory, and a service is asked by many. */
const turns: ReturnType<typeof createTurns> = createTurns()

/** As `withUnpacked`, for the octets of a package; `name` is what errors call it. */
export async function withUnpackedBytes<T>(
  name: string,
  bytes: Uint8Array,
  work: (dir: string) => Promise<T>,
): Promise<T> {
  const refuse = (reason: string, cause?: unknown): Error => pluginFailed(name, 'check', reason, { cause })
  return await turns(async () => {
    const files = await promisify(gunzip)(bytes, { maxOutputLength: MOST_BYTES })
      .then(filesOf)
      .catch((cause: unknown) => {
        const why = cause instanceof Error ? ` (${cause.message.replace(/\.$/, '')})` : ''
        throw refuse(`it is no package as npm pack makes it: it cannot be unpacked${why}`, cause)
      })
    if (files.size > MOST_FILES) throw refuse(`it has more than ${MOST_FILES} files`)
    const dir = await realpath(await mkdtemp(join(tmpdir(), 'svc-plugin-')))
    try {
      await write(dir, files).catch((cause: unknown) => {
        throw refuse(
          'its files cannot be written: one stands where another needs a folder, or a name is too long',
          cause,
        )
      })
      return await work(dir)
    } finally {
      await rm(dir, { recursive: true, force: true })
    }
  })
}

async function write(dir: string, files: ReadonlyMap<string, Uint8Array>): Promise<void> {
  for (const [name, content] of files) {
    await mkdir(join(dir, dirname(name)), { recursive: true, mode: 0o700 })
    await writeFile(join(dir, name), content, { mode: 0o600 })
  }
}

/** The regular files of the package, by their names in it. Throws for what is damaged, cut off, or names a file twice. */
async function filesOf(archive: Buffer): Promise<ReadonlyMap<string, Uint8Array>> {
  const files = new Map<string, Uint8Array>()
  for (const { header, data } of await unpackTar(archive, { strict: true })) {
    const name = posix.normalize(header.name)
    if (header.type !== 'file' || !name.startsWith(ROOT)) continue
    if (files.has(name.slice(ROOT.length))) throw new Error(`it has two files ${name}`)
    files.set(name.slice(ROOT.length), data ?? new Uint8Array())
  }
  return files
}

/** A version that was put into `<data_dir>/plugins`. */
export interface InstalledPlugin {
  readonly id: string
  readonly version: string
  /** Absolute path of its folder. */
  readonly dir: string
  /** False when the very same content was there already. */
  readonly isNew: boolean
  /** Removes what this installation has made, also the directories above it that it had to make. */
  takeBack(): Promise<void>
}

interface InstallOptions {
  /** Whose packages are taken. Where it allows unsigned ones, what nobody trusted has signed is installed as unsigned. */
  readonly policy: SignaturePolicy
  /** Another version than the package's own, and then without its signature. */
  readonly version?: string
  /** What is unsigned is let in for no longer than the configuration allows that, and not by somebody who said so for good. */
  readonly isUnderSetting?: boolean
}

/**
 * Installs a built plugin package, a folder or a `.tgz`, into `pluginsDir` as `<id>@<version>-<sha8>`: a signed one to the
 * octet; of any other its package.json, the schema of its configuration, its entry and the modules of its commands, each one bundled file. The
 * folder appears whole or not at all. The running service takes it at the next load.
 *
 * Throws `plugin_failed` (check) for a package that is none, is unsafe or is not trusted, `plugin_state_conflict` when another
 * build of the same version is installed.
 */
export async function installPlugin(
  source: string,
  pluginsDir: string,
  options: InstallOptions,
): Promise<InstalledPlugin> {
  if (!source.endsWith('.tgz')) return await installFolder(source, pluginsDir, options)
  return await withUnpacked(source, (dir) => installFolder(dir, pluginsDir, options, basename(source)))
}

/** What errors call octets whose manifest is not known: "plugin of the package failed". */
const UPLOADED = 'of the package'

/** As `installPlugin`, for the octets of a `.tgz`. */
export async function installPackage(
  bytes: Uint8Array,
  pluginsDir: string,
  options: InstallOptions,
): Promise<InstalledPlugin> {
  return await withUnpackedBytes(UPLOADED, bytes, (dir) => installFolder(dir, pluginsDir, options, UPLOADED))
}

async function installFolder(
  sourceDir: string,
  pluginsDir: string,
  { policy, version, isUnderSetting = false }: InstallOptions,
  name = basename(sourceDir),
): Promise<InstalledPlugin> {
  const asked = version === undefined ? { name } : { name, version }
  const contents = accepted(await readPackage(sourceDir, asked), policy)
  const hash = contentHash(hashesOfContents(contents))
  const record = recordText(hash, isUnderSetting && contents.signed.kind === 'unsigned')
  const dir = join(pluginsDir, nameOf(contents))
  const installed = { id: contents.id, version: contents.version, dir }
  const place = nearestOf(pluginsDir)
  const untrusted = await untrustedPlace(place)
  if (untrusted !== undefined) throw pluginFailed(contents.id, 'check', untrusted)
  if (existsSync(dir)) {
    await refuseChanged(dir, hash)
    if (!isUnderSetting) createContentRecord(pluginsDir).write(basename(dir), record)
    return { ...installed, isNew: false, takeBack: async () => undefined }
  }
  await refuseOtherBuild(pluginsDir, contents)
  const madeFrom = await mkdir(pluginsDir, { recursive: true, mode: 0o755 })
  await writeFolder(pluginsDir, dir, contents)
  createContentRecord(pluginsDir).write(basename(dir), record)
  return {
    ...installed,
    isNew: true,
    takeBack: async () => {
      await rm(dir, { recursive: true, force: true })
      createContentRecord(pluginsDir).write(basename(dir), undefined)
      if (madeFrom !== undefined) await removeEmpty(pluginsDir, madeFrom)
    },
  }
}

/** What is installed of a package, by what its signature is worth here. Throws `plugin_failed` (check). */
function accepted(contents: PackageContents, policy: SignaturePolicy): PackageContents {
  const who = judged(contents.signed, policy)
  if ('reason' in who) throw pluginFailed(contents.id, 'check', who.reason)
  // Somebody has said that it may come in as if it had none.
  return who.signedBy === undefined ? unsigned(contents) : contents
}

function nameOf({ id, version, files, entry }: PackageContents): string {
  const bytes = files.get(entry)
  if (bytes === undefined) throw pluginFailed(id, 'check', `it has no ${entry}`)
  return folderName(id, version, sha8(bytes))
}

async function writeFolder(pluginsDir: string, dir: string, { files }: PackageContents): Promise<void> {
  const draft = join(pluginsDir, `.draft-${randomBytes(6).toString('hex')}`)
  try {
    await mkdir(draft, { mode: 0o755 })
    for (const [name, bytes] of files) {
      await mkdir(dirname(join(draft, name)), { recursive: true, mode: 0o755 })
      await writeFile(join(draft, name), bytes)
      await chmod(join(draft, name), 0o644)
    }
    await rename(draft, dir)
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}

/** Removes `from` and what lies above it, up to `top`, as long as nothing else is in there. */
async function removeEmpty(from: string, top: string): Promise<void> {
  try {
    for (let dir = from; dir.length >= top.length; dir = dirname(dir)) await rmdir(dir)
  } catch {
    // Somebody has put something there meanwhile: it stays.
  }
}

/** What lies there is taken for the same only while it is what was installed, and what comes is that, too. */
async function refuseChanged(dir: string, coming: string): Promise<void> {
  const recorded = recordOf(createContentRecord(dirname(dir)).read().get(basename(dir)))?.hash
  const files = await trustedFiles(dir)
  const reason = 'reason' in files ? files.reason : undefined
  const there = 'reason' in files ? recorded : contentHash(await hashesOf(dir, files))
  const isSame = recorded === undefined || recorded === there
  if (reason !== undefined || !isSame)
    throw pluginStateConflict(
      `${dir} is not as it was installed (${reason ?? 'its SHA-256 is another'}); remove that folder and install it again`,
    )
  if (there !== coming)
    throw pluginStateConflict(
      `the same program is installed in ${dir} with other files beside it (manifest, signature); give this one a new version`,
    )
}

async function refuseOtherBuild(pluginsDir: string, { id, version }: PackageContents): Promise<void> {
  const prefix = `${id}@${version}-`
  const names = await readdir(pluginsDir).catch(() => [])
  const other = names.find((name) => name.startsWith(prefix) && name.length === prefix.length + 8)
  if (other === undefined) return
  throw pluginStateConflict(
    `another build of ${id} ${version} is installed as ${other}; give this one a new version`,
  )
}

/** The directory, or the nearest one above it that is there. */
function nearestOf(dir: string): string {
  return existsSync(dir) ? dir : nearestOf(dirname(resolve(dir)))
}
