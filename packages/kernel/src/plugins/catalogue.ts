import { type Log, pluginNotFound, pluginStateConflict } from '@steeple/contracts'
import semver from 'semver'
import { asFailure } from './failure.ts'
import { createManifestReader, type FoundPlugin, type RejectedPlugin } from './manifest.ts'
import { type PluginSources, type Scan, scanSources } from './sources.ts'

/** What decides which version of a plugin is meant. */
export interface Choice {
  readonly version: string | undefined
  readonly rollback: boolean
  readonly running: FoundPlugin | undefined
  /** The version that ran before the running one. */
  readonly before: string | undefined
}

/** What the sources held when they were last looked at. */
export interface Catalogue {
  scan(): Promise<void>
  /** Whether there is anything of that id, usable or not. */
  knows(id: string): boolean
  ids(): readonly string[]
  /** Versions of a plugin, the highest first. */
  versions(id: string): readonly FoundPlugin[]
  /** What is wrong with a folder of that id: with that version of it, or with the highest that is unusable. */
  rejected(id: string, version?: string): RejectedPlugin | undefined
  /** As `rejected`, when no usable version is as high. */
  rejectedAbove(id: string, version: string | undefined): RejectedPlugin | undefined
  /** Every unusable folder of that id in the plugins directory. */
  unusable(id: string): readonly RejectedPlugin[]
  /** The pinned version of each plugin, or its highest. */
  highest(pinned: ReadonlyMap<string, string>): readonly FoundPlugin[]
  /** The version that is meant. Throws `plugin_not_found`, `plugin_state_conflict`, `plugin_failed` (check). */
  choose(id: string, choice: Choice): FoundPlugin
  /** The package of the running version as it lies on the disk now; the running one when it is gone. */
  sameAs(running: FoundPlugin): FoundPlugin
}

/** Makes a catalogue that knows nothing until `scan`. */
export function createCatalogue(sources: PluginSources, log: Log): Catalogue {
  const reader = createManifestReader()
  let scan: Scan = { found: [], rejected: [] }
  const versions = (id: string): readonly FoundPlugin[] =>
    scan.found
      .filter((found) => found.manifest.id === id)
      .sort((a, b) => semver.rcompare(a.version, b.version) || (a.origin === 'bundled' ? -1 : 1))
  const rejected = (id: string, version?: string): RejectedPlugin | undefined =>
    scan.rejected
      .filter((one) => one.id === id && (version === undefined || (one.version ?? version) === version))
      .sort((a, b) => semver.rcompare(orderOf(a), orderOf(b)))[0]
  const rejectedAbove = (id: string, version: string | undefined): RejectedPlugin | undefined => {
    const highest = rejected(id)
    if (highest === undefined || version === undefined) return highest
    return semver.gt(orderOf(highest), version) ? highest : undefined
  }
  const ids = (): readonly string[] => [
    ...new Set([...scan.found.map((found) => found.manifest.id), ...scan.rejected.map((one) => one.id)]),
  ]
  return {
    scan: async () => {
      const before = new Set(scan.rejected.map((one) => one.dir))
      scan = await scanSources(reader, sources)
      for (const { dir, id, reason } of scan.rejected) {
        if (!before.has(dir)) log.error({ plugin: id, dir, reason }, 'plugin folder rejected')
      }
    },
    ids,
    knows: (id) => ids().includes(id),
    versions,
    rejected,
    rejectedAbove,
    unusable: (id) => scan.rejected.filter((one) => one.id === id && one.version !== undefined),
    highest: (pinned) =>
      ids()
        .map((id) => versions(id).find((found) => found.version === pinned.get(id)) ?? versions(id)[0])
        .filter((found) => found !== undefined),
    choose: (id, choice) => {
      const chosen = pick(versions(id), choice)
      const isOpen = choice.version === undefined && !(choice.rollback && choice.running !== undefined)
      const unusable = isOpen ? rejectedAbove(id, chosen?.version) : rejected(id, choice.version)
      if (unusable !== undefined && (isOpen || chosen === undefined))
        throw asFailure(id, 'check', reasonOf(unusable))
      if (chosen === undefined) {
        throw pluginNotFound(choice.version === undefined ? id : `${id}@${choice.version}`)
      }
      refuseDowngrade(id, chosen, choice)
      return chosen
    },
    sameAs: (running) =>
      versions(running.manifest.id).find((found) => found.version === running.version) ?? running,
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
  return (
    versions.find((found) => found.version === before) ??
    versions.find((found) => semver.lt(found.version, running.version))
  )
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
