import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { ERROR_CATALOGUE, type Manifest } from '@steeple/contracts'
import { readSection, type Section } from '@steeple/settings'
import semver from 'semver'
import { type PluginPackage, packageCheck } from './package-check.ts'
import type { FileHashes } from './trust.ts'

/** A plugin package as it lies on the disk, before any of its code runs. */
export interface FoundPlugin {
  readonly manifest: Manifest
  /** The package's name and version. */
  readonly packageName: string
  readonly version: string
  /** Absolute path of the package's folder and of its entry file. */
  readonly dir: string
  readonly entry: string
  /** What its manifest says of the configuration. */
  readonly section: Section
  /** `bundled`: part of the build. `installed`: a folder of `<data_dir>/plugins`, its entry checked by hash. */
  readonly origin: 'bundled' | 'installed'
  /** Of an installed one: the SHA-256 (hex) of each of its files when it was checked, by its name in the folder. */
  readonly sha256?: FileHashes
  /** Of an installed one: who has signed it, as `alice (1f2e-…)`; absent when nobody has whom the operator trusts. */
  readonly signedBy?: string
}

/** A folder that looks like a plugin and is none: why. */
export interface RejectedPlugin {
  readonly dir: string
  /** The plugin's id, or what of the folder's name stands for it. */
  readonly id: string
  /** As the folder's name says; undefined for a package of the build. */
  readonly version?: string
  readonly reason: string
}

/** It is read before anybody knows who has signed it; JSON of many megabytes takes seconds in which nothing else is done. */
const MOST_BYTES = 256 * 1024

export interface ReadManifest {
  readonly package: PluginPackage
  readonly entry: string
  readonly section: Section
}

/** The plugin package in `dir`; a string says why it is none. Its entry is named, not looked at. */
export async function readManifest(dir: string, origin: Section['origin']): Promise<ReadManifest | string> {
  const validate = packageCheck()
  const { parsed, reason } = await readJson(join(dir, 'package.json'))
  if (reason !== undefined) return reason
  if (!validate(parsed)) {
    const problems = (validate.errors ?? []).map((problem) => problemText(problem))
    return `package.json: ${problems.join('; ')}`
  }
  if (!isVersion(parsed.version)) return `version ${parsed.version} is not a semantic version`
  if (semver.validRange(parsed.steeple.contracts) === null) {
    return `steeple.contracts ${parsed.steeple.contracts} is not a semver range`
  }
  const entry = entryOf(parsed.exports)
  if (entry === undefined)
    return 'package.json: exports names no entry "." that is a relative .js or .mjs file'
  const taken = parsed.steeple.errors?.find(({ code }) => ERROR_CATALOGUE.some((one) => one.code === code))
  if (taken !== undefined) return `steeple.errors: ${taken.code} is a code of the service`
  const section = readSection(dir, origin)
  if (typeof section !== 'object') return `steeple.config: ${section}`
  return { package: parsed, entry: join(dir, entry), section }
}

/** It is part of a folder's name: what semver would trim or take off (` v1.0.0`) is no part of it. */
function isVersion(version: string): boolean {
  return semver.valid(version) !== null && /^\d[\w.+-]*$/.test(version)
}

function problemText(problem: {
  readonly instancePath: string
  readonly message?: string
  readonly params: { readonly additionalProperty?: unknown; readonly allowedValues?: unknown }
}): string {
  const where = problem.instancePath.slice(1).replaceAll('/', '.')
  const named = problem.params.additionalProperty ?? problem.params.allowedValues
  const what = problem.message ?? 'is wrong'
  return [where, what, named === undefined ? '' : `(${String(named)})`]
    .filter((part) => part !== '')
    .join(' ')
}

async function readJson(path: string): Promise<{ readonly parsed?: unknown; readonly reason?: string }> {
  try {
    const { size } = await stat(path)
    if (size > MOST_BYTES) return { reason: `package.json is larger than ${MOST_BYTES} bytes` }
    return { parsed: JSON.parse(await readFile(path, 'utf8')) }
  } catch {
    return { reason: 'package.json is missing or not JSON' }
  }
}

/** The entry of `exports`: a string, `{".": …}`, or conditions with `import` or `default`. */
function entryOf(exports: unknown): string | undefined {
  if (typeof exports === 'string') return isRelativeModule(exports) ? exports : undefined
  if (typeof exports !== 'object' || exports === null) return undefined
  const conditions = new Map<string, unknown>(Object.entries(exports))
  for (const name of ['.', 'import', 'default']) {
    const entry = entryOf(conditions.get(name))
    if (entry !== undefined) return entry
  }
  return undefined
}

function isRelativeModule(path: string): boolean {
  return /^\.\/[^\0\\]+\.m?js$/.test(path) && !path.split('/').includes('..')
}

/** `<id>@<version>-<sha8>` */
const FOLDER = /^([a-z][a-z0-9-]*)@(.+)-([0-9a-f]{8})$/

/** What the name of an installed folder says; undefined for one that is none. */
export function installedName(
  folder: string,
): { readonly id: string; readonly version: string; readonly hash: string } | undefined {
  const [, id, version, hash] = FOLDER.exec(folder) ?? []
  return id === undefined || version === undefined || hash === undefined ? undefined : { id, version, hash }
}

/** The folder name of an installed version. */
export function folderName(id: string, version: string, hash: string): string {
  return `${id}@${version}-${hash}`
}
