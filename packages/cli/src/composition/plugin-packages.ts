import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Manifest } from '@steeple/contracts'
import { leftOut, packageRoot } from '../package-root.ts'

/**
 * The folders of the plugins of this build: the packages beside this one whose manifest has a `steeple` part.
 * Found by manifest, never by import, so a build without one differs in nothing else.
 */
export function pluginPackages(): readonly string[] {
  const lacks = leftOut()
  return foldersIn(dirname(OWN)).filter((folder) => isPlugin(folder) && !lacks.has(basename(folder)))
}

/** The manifests of the plugins of this build, each with its folder; a test holds them to what is asked of a manifest. */
export function bundledManifests(): readonly { readonly dir: string; readonly steeple: Manifest }[] {
  return pluginPackages().map((dir) => {
    const { steeple } = JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8'))
    return { dir, steeple }
  })
}

/** The manifests of plugins that exist and that this build lacks: their keys, paths and metrics are known. */
export function knownPlugins(): readonly string[] {
  return [...leftOut()].map((name) => join(dirname(OWN), name)).filter(isPlugin)
}

const OWN = fileURLToPath(packageRoot())

function foldersIn(folder: string): readonly string[] {
  return readdirSync(folder)
    .sort()
    .map((name) => join(folder, name))
}

/** Without these it is no service. */
const ESSENTIAL = ['access', 'nodes', 'policy', 'sims', 'sessions'] as const

/** What a build whose packages were not all copied to where it runs says; undefined for a whole one. */
export function incompleteBuild(packages: readonly string[]): string | undefined {
  const names = new Set(packages.map((folder) => basename(folder)))
  const missing = ESSENTIAL.filter((name) => !names.has(name))
  if (missing.length === 0) return undefined
  return `this build lacks ${missing.join(', ')}: its plugins lie beside the folder of the command, and these do not; build all of it with npm run build, and move it as a whole`
}

function isPlugin(folder: string): boolean {
  const path = join(folder, 'package.json')
  if (!existsSync(path)) return false
  const manifest: unknown = JSON.parse(readFileSync(path, 'utf8'))
  return typeof manifest === 'object' && manifest !== null && 'steeple' in manifest
}
