import { readdir } from 'node:fs/promises'
import { basename, join, relative } from 'node:path'
import { type Log, pluginNotFound, pluginStateConflict } from '@steeple/contracts'
import semver from 'semver'
import { asFailure } from './failure.ts'
import type { KeptMap } from './kept-states.ts'
import {
  type FoundPlugin,
  installedName,
  type ReadManifest,
  type RejectedPlugin,
  readManifest,
} from './manifest.ts'
import {
  contentHash,
  createContentRecord,
  hashesOf,
  isMissing,
  type Judged,
  judged,
  recordOf,
  recordText,
  type SignaturePolicy,
  type Signed,
  signedBy,
  trustedFiles,
  unsafeReason,
  untrustedPlace,
} from './trust.ts'

/** What decides which version of a plugin is meant. */
interface Choice {
  readonly version: string | undefined
  readonly rollback: boolean
  readonly running: FoundPlugin | undefined
  /** The version that ran before the running one. */
  readonly before: string | undefined
}

/** What the sources held when they were last looked at; nothing until `scan`. `told` hears of each. */
export class Catalogue {
  readonly #sources: PluginSources
  readonly #log: Log
  readonly #told: () => void
  readonly #record: KeptMap<string>
  #scan: Scan = { found: [], rejected: [] }

  constructor(sources: PluginSources, log: Log, told: () => void) {
    this.#sources = sources
    this.#log = log
    this.#told = told
    this.#record = createContentRecord(sources.pluginsDir)
  }

  async scan(): Promise<void> {
    const before = new Set(this.#scan.rejected.map((one) => one.dir))
    const adopt = (folder: string, record: string): void => {
      this.#note(folder, record)
      this.#log.info({ folder, sha256: record.slice(0, 64) }, 'content of a plugin folder put on record')
    }
    this.#scan = await scanSources({ ...this.#sources, adopt })
    for (const { dir, id, reason } of this.#scan.rejected) {
      if (!before.has(dir)) this.#log.error({ plugin: id, dir, reason }, 'plugin folder rejected')
    }
    this.#told()
    // One that is put there again by hand is looked at anew.
    const there = new Set([...this.#scan.found, ...this.#scan.rejected].map(({ dir }) => basename(dir)))
    for (const folder of this.#record.read().keys()) if (!there.has(folder)) this.#note(folder, undefined)
  }

  ids(): readonly string[] {
    const { found, rejected } = this.#scan
    return [...new Set([...found.map((one) => one.manifest.id), ...rejected.map((one) => one.id)])]
  }

  /** Whether there is anything of that id, usable or not. */
  knows(id: string): boolean {
    return this.ids().includes(id)
  }

  /** Versions of a plugin, the highest first. */
  versions(id: string): readonly FoundPlugin[] {
    return this.#scan.found
      .filter((found) => found.manifest.id === id)
      .sort((a, b) => semver.rcompare(a.version, b.version) || (a.origin === 'bundled' ? -1 : 1))
  }

  /** What is wrong with a folder of that id: with that version of it, or with the highest that is unusable. */
  rejected(id: string, version?: string): RejectedPlugin | undefined {
    return this.#scan.rejected
      .filter((one) => one.id === id && (version === undefined || (one.version ?? version) === version))
      .sort((a, b) => semver.rcompare(orderOf(a), orderOf(b)))[0]
  }

  /** As `rejected`, when no usable version is as high. */
  rejectedAbove(id: string, version: string | undefined): RejectedPlugin | undefined {
    const highest = this.rejected(id)
    if (highest === undefined || version === undefined) return highest
    return semver.gt(orderOf(highest), version) ? highest : undefined
  }

  /** Every folder of that id in the plugins directory, usable or not. */
  installed(id: string): readonly { readonly dir: string; readonly version: string }[] {
    return [
      ...this.versions(id).filter(({ origin }) => origin === 'installed'),
      ...this.#scan.rejected.flatMap(({ dir, version, ...one }) =>
        one.id === id && version !== undefined ? [{ dir, version }] : [],
      ),
    ]
  }

  /** The version that is meant. Throws `plugin_not_found`, `plugin_state_conflict`, `plugin_failed` (check). */
  choose(id: string, choice: Choice): FoundPlugin {
    const chosen = pick(this.versions(id), choice)
    const isOpen = choice.version === undefined && !(choice.rollback && choice.running !== undefined)
    const unusable = isOpen ? this.rejectedAbove(id, chosen?.version) : this.rejected(id, choice.version)
    if (unusable !== undefined && (isOpen || chosen === undefined))
      throw asFailure(id, 'check', reasonOf(unusable))
    if (chosen === undefined) throw noneFound(id, choice)
    refuseDowngrade(id, chosen, choice)
    return chosen
  }

  /**
   * The package of the running version as it lies on the disk now; the running one when it is gone. Throws `plugin_failed`
   * (check) when it is there and may not be loaded any more.
   */
  sameAs(running: FoundPlugin): FoundPlugin {
    const refused = this.#scan.rejected.find(({ dir }) => dir === running.dir)
    if (refused !== undefined) throw asFailure(running.manifest.id, 'check', reasonOf(refused))
    return this.versions(running.manifest.id).find((found) => found.version === running.version) ?? running
  }

  /** What a folder holds, or that it is gone. A full or read-only disk keeps no plugin from running. */
  #note(folder: string, hash: string | undefined): void {
    try {
      this.#record.write(folder, hash)
    } catch (error) {
      this.#log.warn({ err: error, folder }, 'content of a plugin folder could not be put on record')
    }
  }
}

/** Its version for comparisons; a folder without a usable one is below all others. */
function orderOf({ version }: RejectedPlugin): string {
  return semver.valid(version) ?? '0.0.0-0'
}

function reasonOf({ version, reason }: RejectedPlugin): Error {
  return new TypeError(version === undefined ? reason : `version ${version} is unusable: ${reason}`)
}

function pick(versions: readonly FoundPlugin[], choice: Choice): FoundPlugin | undefined {
  const { version, rollback, running, before } = choice
  if (version !== undefined) return versions.find((found) => found.version === version)
  if (!rollback || running === undefined) return versions[0]
  const lower = versions.filter((found) => semver.lt(found.version, running.version))
  return lower.find((found) => found.version === before) ?? lower[0]
}

function noneFound(id: string, { version, rollback, running }: Choice): Error {
  if (version !== undefined) return pluginNotFound(`${id}@${version}`)
  if (!rollback || running === undefined) return pluginNotFound(id)
  return pluginStateConflict(`plugin ${id} has no version before ${running.version} to go back to`)
}

function refuseDowngrade(id: string, chosen: FoundPlugin, { rollback, running }: Choice): void {
  if (running === undefined || semver.gte(chosen.version, running.version)) return
  if (!rollback) {
    throw pluginStateConflict(
      `plugin ${id} runs as ${running.version}; going back to ${chosen.version} must be asked for as a rollback`,
    )
  }
  if (semver.major(chosen.version) !== semver.major(running.version)) {
    throw pluginStateConflict(`plugin ${id} cannot go back over a major version, to ${chosen.version}`)
  }
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
interface Scan {
  readonly found: readonly FoundPlugin[]
  readonly rejected: readonly RejectedPlugin[]
}

const NOBODY: SignaturePolicy = { trust: [], allow_unsigned: false }

/** Reads every manifest of the sources. Runs no code of theirs. */
export async function scanSources(sources: PluginSources): Promise<Scan> {
  const results = await Promise.all([
    ...sources.packages.map((dir) => readBundled(dir)),
    ...(await readAllInstalled(sources)),
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

async function readBundled(dir: string): Promise<FoundPlugin | RejectedPlugin> {
  const read = await readManifest(dir, 'build')
  if (typeof read === 'string') return { dir, id: basename(dir), reason: read }
  return foundIn(dir, read, 'bundled')
}

async function readAllInstalled({
  pluginsDir,
  adopt,
  policy = () => NOBODY,
}: PluginSources): Promise<readonly Promise<FoundPlugin | RejectedPlugin>[]> {
  if (pluginsDir === undefined) return []
  const entries = await readdir(pluginsDir).catch((error: unknown) => {
    if (isMissing(error)) return []
    throw error
  })
  const names = entries.filter((name) => installedName(name) !== undefined).sort()
  if (names.length === 0) return []
  const untrusted = await untrustedPlace(pluginsDir)
  const recorded = createContentRecord(pluginsDir).read()
  return names.map(async (name) => {
    const dir = join(pluginsDir, name)
    if (untrusted !== undefined) return rejection(dir, untrusted)
    return await readInstalled(dir, recorded.get(basename(dir)), { adopt, policy: policy() })
  })
}

function rejection(dir: string, reason: string): RejectedPlugin {
  const { id = '', version = '' } = installedName(basename(dir)) ?? {}
  return { dir, id, version, reason }
}

async function readInstalled(
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
  const read = await readManifest(dir, 'installed')
  if (typeof read === 'string') return reject(read)
  const { version: packageVersion, steeple } = read.package
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
    ...foundIn(dir, read, 'installed'),
    sha256: hashes,
    ...(who.signedBy === undefined ? {} : { signedBy: who.signedBy }),
  }
}

function foundIn(dir: string, read: ReadManifest, origin: FoundPlugin['origin']): FoundPlugin {
  const { name, version, steeple } = read.package
  return {
    manifest: steeple,
    packageName: name,
    version,
    dir,
    entry: read.entry,
    section: read.section,
    origin,
  }
}

/** Somebody who let it in without a signature has said so once; a signature counts while its key is trusted. */
function whoSigned(signed: Signed, isLetIn: boolean, policy: SignaturePolicy): Judged {
  if (signed.kind === 'unsigned' && isLetIn) return { signedBy: undefined }
  return judged(signed, policy)
}
