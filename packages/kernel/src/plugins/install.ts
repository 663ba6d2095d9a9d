import { randomBytes } from 'node:crypto'
import { chmod, mkdir, readdir, readFile, rename, rm, rmdir, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { pluginFailed, pluginStateConflict } from '@steeple/contracts'
import { createManifestReader } from './manifest.ts'
import { folderName, sha8, unsafeReason } from './sources.ts'

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

/**
 * Copies a built plugin package into `pluginsDir`, as `<id>@<version>-<sha8>`: its package.json and its entry, which
 * must be one bundled file. The folder appears whole or not at all. The running service takes it at the next load.
 *
 * Throws `plugin_failed` (check) for a package that is none or is unsafe, `plugin_state_conflict` when another build of
 * the same version is installed.
 */
export async function installPlugin(sourceDir: string, pluginsDir: string): Promise<InstalledPlugin> {
  const refuse = (reason: string): Error => pluginFailed(basename(sourceDir), 'check', reason)
  const read = await createManifestReader().read(sourceDir)
  if (typeof read === 'string') throw refuse(read)
  const { id } = read.package.steeple
  const { version } = read.package
  const unsafe = await unsafeReason(sourceDir, [join(sourceDir, 'package.json'), read.entry])
  if (unsafe !== undefined) throw refuse(unsafe)

  const bytes = await readFile(read.entry)
  const dir = join(pluginsDir, folderName(id, version, sha8(bytes)))
  const installed = { id, version, dir }
  if (await exists(dir)) return { ...installed, isNew: false, takeBack: async () => undefined }
  await refuseOtherBuild(pluginsDir, id, version)
  const madeFrom = await mkdir(pluginsDir, { recursive: true, mode: 0o755 })

  const draft = join(pluginsDir, `.draft-${randomBytes(6).toString('hex')}`)
  try {
    await mkdir(draft, { mode: 0o755 })
    const { name, steeple } = read.package
    const manifest = { name, version, type: 'module', exports: { '.': './plugin.js' }, steeple }
    await writeFile(join(draft, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`)
    await writeFile(join(draft, 'plugin.js'), bytes)
    for (const file of ['package.json', 'plugin.js']) await chmod(join(draft, file), 0o644)
    await rename(draft, dir)
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
  return {
    ...installed,
    isNew: true,
    takeBack: async () => {
      await rm(dir, { recursive: true, force: true })
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

async function refuseOtherBuild(pluginsDir: string, id: string, version: string): Promise<void> {
  const prefix = `${id}@${version}-`
  const names = await readdir(pluginsDir).catch(() => [])
  const other = names.find((name) => name.startsWith(prefix) && name.length === prefix.length + 8)
  if (other === undefined) return
  throw pluginStateConflict(
    `another build of ${id} ${version} is installed as ${other}; give this one a new version`,
  )
}

async function exists(path: string): Promise<boolean> {
  return await stat(path).then(
    () => true,
    () => false,
  )
}
