import { isServiceError, storeInvalid } from '@steeple/contracts'
import semver from 'semver'
import { within } from '../deadline.ts'
import { dependentsOf, problemOf } from './checks.ts'
import type { CodeLoader } from './code-loader.ts'
import { asFailure, inStep } from './failure.ts'
import type { PluginHost } from './host.ts'
import { configSchemaOf, type LivePlugin, STEP_BOUND_MS, setUp } from './live.ts'
import type { LiveSet } from './live-set.ts'
import type { FoundPlugin } from './manifest.ts'
import type { PluginRecord, Records } from './records.ts'

/**
 * What happens to a plugin's tables before its setup. `keep`: they are those of a later version, nothing is done (steps
 * are additive). `try`: they may be.
 */
export type TableStep = 'migrate' | 'keep' | 'try'

/** What bringing up needs. */
export interface BringUpParts {
  readonly host: PluginHost
  readonly live: LiveSet
  readonly records: Records
  readonly code: CodeLoader
  /** Version of the host's `@steeple/contracts`. */
  readonly contractsVersion: string
}

/** Brings single copies up, from the checks to the start. */
export interface BringUp {
  /** All steps up to the setup. Throws `plugin_failed`; then nothing is left of the copy. */
  setUp(found: FoundPlugin, tables: TableStep): Promise<LivePlugin>
  /**
   * All steps, in place of the copy with its id if one runs, with its record. Throws `plugin_failed`; then that one runs
   * on. `advice` is put behind the reason in the record.
   */
  change(found: FoundPlugin, tables: TableStep, advice?: string): Promise<PluginRecord>
  /** Whether a running version has the tables of a later one: rolled back to, or that one failed. */
  isOnLaterTables(running: FoundPlugin): boolean
}

/** Makes what brings copies up. */
export function createBringUp({ host, live, records, code, contractsVersion }: BringUpParts): BringUp {
  /** Highest version of each plugin whose migrations were begun: those below run on its tables. */
  const migrated = new Map<string, string>()
  /** Copies that were brought up without migrations: `<id>@<version>`. */
  const behind = new Set<string>()

  const check = (found: FoundPlugin): void => {
    const running = live.get(found.manifest.id)
    const problem = problemOf(found, {
      contractsVersion,
      providerOf: (service) => {
        const owner = host.services.ownerOf(service)
        return owner === found.manifest.id ? undefined : owner
      },
      running: running?.found,
      dependents: dependentsOf(found.manifest.id, live.all()),
    })
    if (problem !== undefined) throw asFailure(found.manifest.id, 'check', new TypeError(problem))
  }

  const migrate = async (
    found: FoundPlugin,
    { plugin }: LivePlugin['code'],
    tables: TableStep,
  ): Promise<void> => {
    const { id } = found.manifest
    if (tables === 'keep') {
      behind.add(`${id}@${found.version}`)
      return
    }
    migrated.set(id, found.version)
    try {
      await host.db.migrate(id, plugin.migrations ?? [])
    } catch (error) {
      if (tables === 'migrate' || !isServiceError(error) || error.code !== storeInvalid.code) throw error
      behind.add(`${id}@${found.version}`)
      host.log.warn(
        { plugin: id, version: found.version, err: error },
        'plugin runs on the tables as they are',
      )
    }
  }

  /** Everything up to the point where `setUp` can be called. */
  const prepare = async (found: FoundPlugin, tables: TableStep): Promise<() => Promise<LivePlugin>> => {
    const { id, config_path } = found.manifest
    check(found)
    const loaded = await inStep(id, 'import', () =>
      within(host.timers, STEP_BOUND_MS, 'its import', () => code.load(found)),
    )
    try {
      const schema = configSchemaOf(loaded)
      const config = await inStep(id, 'config', async () => host.settings.configFor(config_path, schema))
      await inStep(id, 'migrate', () => migrate(found, loaded, tables))
      return () => inStep(id, 'setup', () => setUp(host, found, loaded, config))
    } catch (error) {
      await loaded.dispose()
      throw error
    }
  }

  /** The copy that had to leave for one that then failed is set up and started again. */
  const restore = async (before: LivePlugin, why: unknown): Promise<void> => {
    const { id } = before.found.manifest
    try {
      await live.enter(await setUp(host, before.found, before.code, before.config))
    } catch (error) {
      await live.remove(id)
      host.log.error({ plugin: id, err: error }, 'plugin could not be restored')
      throw asFailure(id, 'start', new AggregateError([why, error], 'it failed, and so did the copy before'))
    }
  }

  const bringUp = async (found: FoundPlugin, tables: TableStep): Promise<void> => {
    const { id } = found.manifest
    const running = live.get(id)
    const makeNext = await prepare(found, tables)
    if (running === undefined || !isExclusive(running.found, found)) {
      await live.enter(await makeNext())
      return
    }
    await live.stepAside(id)
    try {
      await live.enter(await makeNext())
    } catch (error) {
      await restore(running, error)
      throw error
    }
  }

  return {
    setUp: async (found, tables) => await (await prepare(found, tables))(),
    change: async (found, tables, advice) => {
      const { id } = found.manifest
      records.loading(found)
      try {
        await bringUp(found, tables)
      } catch (error) {
        records.failed(found, error, advice)
        throw error
      }
      records.running(found)
      host.log.info({ plugin: id, version: found.version }, 'plugin loaded')
      return records.of(id)
    },
    isOnLaterTables: ({ manifest: { id }, version }) =>
      behind.has(`${id}@${version}`) || semver.gt(migrated.get(id) ?? version, version),
  }
}

function isExclusive(running: FoundPlugin, next: FoundPlugin): boolean {
  return running.manifest.handover === 'exclusive' || next.manifest.handover === 'exclusive'
}
