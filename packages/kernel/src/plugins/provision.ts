import { isServiceError, type Plugin, storeInvalid } from '@steeple/contracts'
import { claimedTwice } from '@steeple/settings'
import semver from 'semver'
import { within } from '../clock/deadline.ts'
import { asFailure, inStep } from '../plugin-packages/failure.ts'
import type { createLoader } from '../plugin-packages/loader.ts'
import type { FoundPlugin } from '../plugin-packages/manifest.ts'
import { dependentsOf, problemOf } from './checks.ts'
import type { PluginHost } from './host.ts'
import { type LivePlugin, STEP_BOUND_MS, setUp } from './live.ts'
import type { PluginEntries, PluginEntry } from './plugin-entries.ts'

/**
 * What happens to a plugin's tables before its setup. `keep`: they are those of a later version (steps are additive);
 * its own learn what that one's rows look like. `try`: they may be.
 */
export type TableStep = 'migrate' | 'keep' | 'try'

/** A version that is to run, and what happens to its tables. */
export interface Wanted {
  readonly found: FoundPlugin
  readonly tables: TableStep
}

/** What provisioning needs. */
export interface ProvisionParts {
  readonly host: PluginHost
  readonly entries: PluginEntries
  readonly loader: Pick<ReturnType<typeof createLoader>, 'load'>
  /** Version of the host's `@steeple/contracts`. */
  readonly contractsVersion: string
}

/** Sets up a copy of which everything else is ready. Throws `plugin_failed` (setup); then nothing is left of the copy. */
type SetUp = () => Promise<LivePlugin>

/** The steps from the check to the setup. Each throws `plugin_failed`; then nothing is left of the copy. */
export type Provision = (wanted: Wanted) => Promise<SetUp>

/** Makes what provisions copies. */
export function createProvision({ host, entries, loader, contractsVersion }: ProvisionParts): Provision {
  const check = (found: FoundPlugin): void => {
    const { id } = found.manifest
    const others = entries.live().map((plugin) => plugin.found.section)
    const problem =
      claimedTwice(found.section, others) ??
      problemOf(found, {
        contractsVersion,
        providerOf: (service) => {
          const owner = host.services.ownerOf(service)
          return owner === id ? undefined : owner
        },
        running: entries.of(id).live?.found,
        dependents: dependentsOf(id, entries.live()),
      })
    if (problem !== undefined) throw asFailure(id, 'check', new TypeError(problem))
  }

  const migrate = async ({ found, tables }: Wanted, plugin: Plugin): Promise<void> => {
    const { id } = found.manifest
    const entry = entries.of(id)
    if (tables === 'keep') {
      entry.behind = found.version
      await host.db.fallBack(id, plugin.tables ?? [])
      return
    }
    entry.migrated = found.version
    try {
      await host.db.migrate(id, plugin.migrations ?? [], plugin.tables)
    } catch (error) {
      if (tables === 'migrate' || !isServiceError(error) || error.code !== storeInvalid.code) throw error
      entry.behind = found.version
      const facts = { plugin: id, version: found.version, err: error }
      host.log.warn(facts, 'plugin runs on the tables as they are')
    }
  }

  return async (wanted) => {
    const { found } = wanted
    const { id } = found.manifest
    check(found)
    const plugin = await inStep(id, 'import', () =>
      within(host.timers, STEP_BOUND_MS, 'its import', () => loader.load(found)),
    )
    entries.know(found)
    const config = await inStep(id, 'config', async () => host.settings.configFor(found.section))
    await inStep(id, 'migrate', () => migrate(wanted, plugin))
    return () => inStep(id, 'setup', () => setUp(host, found, plugin, config))
  }
}

/** How the running version is brought up again: on tables that may be those of a later one. */
export function tablesOf({ behind, migrated }: PluginEntry, { version }: FoundPlugin): TableStep {
  return behind === version || semver.gt(migrated ?? version, version) ? 'keep' : 'migrate'
}
