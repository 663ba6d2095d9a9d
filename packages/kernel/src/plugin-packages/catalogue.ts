import { basename } from 'node:path'
import { type Log, pluginNotFound, pluginStateConflict } from '@steeple/contracts'
import semver from 'semver'
import { asFailure } from './failure.ts'
import type { KeptMap } from './kept-map.ts'
import { createManifestReader, type FoundPlugin, type RejectedPlugin } from './manifest.ts'
import { createContentRecord } from './signature.ts'
import { type PluginSources, type Scan, scanSources } from './sources.ts'

/** What decides which version of a plugin is meant. */
export interface Choice {
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
  readonly #reader = createManifestReader()
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
    this.#scan = await scanSources(this.#reader, { ...this.#sources, adopt })
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
