import { randomBytes } from 'node:crypto'
import { chmod, mkdir, readdir, readFile, rename, rm, rmdir, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { pluginFailed, pluginStateConflict } from '@steeple/contracts'
import { contentHash, createContentRecord } from './content-hash.ts'
import { createManifestReader } from './manifest.ts'
import { folderName, sha8, unsafeReason } from './sources.ts'
import { trustedFiles, untrustedPlace } from './trust.ts'
import { withUnpacked } from './unpack.ts'

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

/** The schema of its configuration in an installed folder. */
const SCHEMA_FILE = 'config.schema.json'

/**
 * Installs a built plugin package, a folder or a `.tgz`, into `pluginsDir`, under another version than its own when one is
 * given: copies it, as `<id>@<version>-<sha8>`: its package.json, the schema of its
 * configuration and its entry, which must be one bundled file. The folder appears whole or not at all. The running service takes it at the next load.
 *
 * Throws `plugin_failed` (check) for a package that is none or is unsafe, `plugin_state_conflict` when another build of
 * the same version is installed.
 */
export async function installPlugin(
  source: string,
  pluginsDir: string,
  version?: string,
): Promise<InstalledPlugin> {
  if (!source.endsWith('.tgz')) return await installFolder(source, pluginsDir, version)
  return await withUnpacked(source, (dir) => installFolder(dir, pluginsDir, version))
}

async function installFolder(
  sourceDir: string,
  pluginsDir: string,
  asVersion: string | undefined,
): Promise<InstalledPlugin> {
  const refuse = (reason: string): Error => pluginFailed(basename(sourceDir), 'check', reason)
  const read = await createManifestReader().read(sourceDir, 'installed')
  if (typeof read === 'string') throw refuse(read)
  const { id } = read.package.steeple
  const version = asVersion ?? read.package.version
  const unsafe = await unsafeReason(sourceDir, [join(sourceDir, 'package.json'), read.entry])
  if (unsafe !== undefined) throw refuse(unsafe)

  const bytes = await readFile(read.entry)
  const { schema } = read.section
  const dir = join(pluginsDir, folderName(id, version, sha8(bytes)))
  const installed = { id, version, dir }
  const place = await nearestOf(pluginsDir)
  const untrusted = await untrustedPlace(place)
  if (untrusted !== undefined) throw refuse(untrusted)
  if (await exists(dir)) {
    await refuseChanged(dir)
    return { ...installed, isNew: false, takeBack: async () => undefined }
  }
  await refuseOtherBuild(pluginsDir, id, version)
  const madeFrom = await mkdir(pluginsDir, { recursive: true, mode: 0o755 })

  const draft = join(pluginsDir, `.draft-${randomBytes(6).toString('hex')}`)
  try {
    await mkdir(draft, { mode: 0o755 })
    const { name, steeple } = read.package
    const own = schema === undefined ? steeple : { ...steeple, config: `./${SCHEMA_FILE}` }
    const manifest = { name, version, type: 'module', exports: { '.': './plugin.js' }, steeple: own }
    await writeFile(join(draft, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`)
    await writeFile(join(draft, 'plugin.js'), bytes)
    if (schema !== undefined)
      await writeFile(join(draft, SCHEMA_FILE), `${JSON.stringify(schema, undefined, 2)}\n`)
    const files = await readdir(draft)
    for (const file of files) await chmod(join(draft, file), 0o644)
    await rename(draft, dir)
    createContentRecord(pluginsDir).write(basename(dir), await contentHash(dir, files))
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
  return {
    ...installed,
    isNew: true,
    takeBack: async () => {
      await rm(dir, { recursive: true, force: true })
      createContentRecord(pluginsDir).write(basename(dir), undefined)
      await removeEmpty(pluginsDir, madeFrom)
    },
  }
}

/** Removes `from` and what lies above it, up to `top`, as long as nothing else is in there. */
async function removeEmpty(from: string, top: string | undefined): Promise<void> {
  if (top === undefined) return
  try {
    for (let dir = from; dir.length >= top.length; dir = dirname(dir)) await rmdir(dir)
  } catch {
    // Somebody has put something there meanwhile: it stays.
  }
}

/** What lies there is taken for the same only while it is what was installed. */
async function refuseChanged(dir: string): Promise<void> {
  const recorded = createContentRecord(dirname(dir)).read().get(basename(dir))
  const files = await trustedFiles(dir)
  const reason = 'reason' in files ? files.reason : undefined
  const isSame = 'reason' in files || recorded === undefined || recorded === (await contentHash(dir, files))
  if (reason === undefined && isSame) return
  throw pluginStateConflict(
    `${dir} is not as it was installed (${reason ?? 'its SHA-256 is another'}); remove that folder and install it again`,
  )
}

async function refuseOtherBuild(pluginsDir: string, id: string, version: string): Promise<void> {
  const prefix = `${id}@${version}-`
  const names = await readdir(pluginsDir).catch(() => [])
  const other = names.find((name) => name.startsWith(prefix) && name.length === prefix.length + 8)
  if (other === undefined) return
  throw pluginStateConflict(
    `another build of ${id} ${version} is installed as ${other}; give this one a new version`,
  )
}

/** The directory, or the nearest one above it that is there. */
async function nearestOf(dir: string): Promise<string> {
  return (await exists(dir)) ? dir : await nearestOf(dirname(resolve(dir)))
}

async function exists(path: string): Promise<boolean> {
  return await stat(path).then(
    () => true,
    () => false,
  )
}
