import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * The folders of the plugins of this build: the packages beside this one whose manifest has a `steeple` part.
 * Found by manifest, never by import, so a build without one differs in nothing else.
 */
export function pluginPackages(): readonly string[] {
  // dist/main.js and src/composition/… differ in depth; the package's own folder has the manifest.
  const packages = dirname(ownFolder(dirname(fileURLToPath(import.meta.url))))
  return readdirSync(packages)
    .sort()
    .map((name) => join(packages, name))
    .filter(isPlugin)
}

function ownFolder(from: string): string {
  return existsSync(join(from, 'package.json')) ? from : ownFolder(dirname(from))
}

function isPlugin(folder: string): boolean {
  const path = join(folder, 'package.json')
  if (!existsSync(path)) return false
  const manifest: unknown = JSON.parse(readFileSync(path, 'utf8'))
  return typeof manifest === 'object' && manifest !== null && 'steeple' in manifest
}
