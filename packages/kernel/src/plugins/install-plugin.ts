import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { copyFile, mkdir, open, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { pluginFailed } from '@steeple/contracts'
import { createManifestReader, type FoundPlugin } from './manifest.ts'
import { folderName, sha8, unsafeReason } from './sources.ts'

/**
 * Copies a built plugin package into `<pluginsDir>/<id>@<version>-<sha8>/`: its manifest and its one entry file.
 *
 * The folder appears whole or not at all; installing the same bytes again changes nothing. Nothing of the plugin runs.
 * Throws `plugin_failed` when the folder is no plugin, is not built or is not safe to take.
 */
export async function installPlugin(sourceDir: string, pluginsDir: string): Promise<FoundPlugin> {
  const read = await createManifestReader().read(sourceDir)
  if (typeof read === 'string') throw pluginFailed(sourceDir, 'install', read)
  const { name, version, steeple } = read.package
  const files = [join(sourceDir, 'package.json'), read.entry]
  const unsafe = await unsafeReason(sourceDir, files)
  if (unsafe !== undefined) throw pluginFailed(steeple.id, 'install', unsafe)
  const dir = join(pluginsDir, folderName(steeple.id, version, sha8(await readFile(read.entry))))
  if (!existsSync(dir)) await copyWhole(sourceDir, files, dir)
  const entry = join(dir, relative(sourceDir, read.entry))
  return { manifest: steeple, packageName: name, version, dir, entry, origin: 'installed' }
}

/** Through a folder beside it that no scan takes for a plugin, so that a crash leaves no half of one. */
async function copyWhole(sourceDir: string, files: readonly string[], dir: string): Promise<void> {
  const making = join(dirname(dir), `.new-${randomBytes(6).toString('hex')}`)
  try {
    for (const file of files) {
      const target = join(making, relative(sourceDir, file))
      await mkdir(dirname(target), { recursive: true, mode: 0o755 })
      await copyFile(file, target)
      await flush(target)
    }
    await rename(making, dir)
  } finally {
    await rm(making, { recursive: true, force: true })
  }
}

async function flush(file: string): Promise<void> {
  const handle = await open(file, 'r+')
  try {
    await handle.chmod(0o644)
    await handle.sync()
  } finally {
    await handle.close()
  }
}
