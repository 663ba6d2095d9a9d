import { type ComponentHealth, type Manifest, type PluginKind, pluginNotFound } from '@steeple/contracts'
import type { Catalogue } from './catalogue.ts'
import { reasonOf } from './failure.ts'
import type { PluginHost } from './host.ts'
import { leftOutBecause } from './left-out.ts'
import type { LiveSet } from './live-set.ts'
import type { FoundPlugin } from './manifest.ts'
import { failedHealth } from './plugin-health.ts'

/** Where a plugin stands. `rejected`: its package is unusable. `found`: never loaded since the start. */
export type PluginState = 'found' | 'rejected' | 'disabled' | 'loading' | 'running' | 'failed' | 'unloaded'

/** What `GET /v1/plugins` shows of a plugin. */
export interface PluginRecord {
  /** The manifest's id. */
  readonly name: string
  /** The running version; the highest that is found when none runs. */
  readonly version: string
  /** Undefined when the package is unusable. */
  readonly kind: PluginKind | undefined
  readonly state: PluginState
  readonly isolation: Manifest['isolation'] | undefined
  /** The worst of its components; `unknown` when it does not run or was not asked yet. */
  readonly health: ComponentHealth['status'] | 'unknown'
  /** When the running copy was started. */
  readonly loadedAtMs: number | undefined
  /** The last failure: step and reason. It stays while an older copy runs on. */
  readonly error: string | undefined
  readonly essential: boolean
  /** Every version that is found, the highest first. */
  readonly versions: readonly string[]
}

/** Keeps what the plugins themselves do not know: state, last error, version before. */
export interface Records {
  loading(found: FoundPlugin): void
  running(found: FoundPlugin): void
  failed(found: FoundPlugin, error: unknown): void
  unloaded(found: FoundPlugin): void
  /** The configuration leaves it out now: as if it had never been loaded. */
  leftOut(found: FoundPlugin): void
  /** The version that ran before the running one. */
  before(id: string): string | undefined
  of(id: string): PluginRecord
  list(): readonly PluginRecord[]
}

interface Note {
  readonly state: PluginState
  readonly version: string
  readonly error: string | undefined
  readonly loadedAtMs: number | undefined
  readonly before: string | undefined
}

/** Makes empty records. */
export function createRecords(host: PluginHost, catalogue: Catalogue, live: LiveSet): Records {
  const notes = new Map<string, Note>()
  const note = (found: FoundPlugin, change: Partial<Note>): void => {
    const { id } = found.manifest
    const known = notes.get(id) ?? {
      state: 'found',
      version: found.version,
      error: undefined,
      loadedAtMs: undefined,
      before: undefined,
    }
    notes.set(id, { ...known, ...change })
  }
  const of = (id: string): PluginRecord => {
    const found = live.get(id)?.found ?? catalogue.versions(id)[0]
    const rejected = catalogue.rejected(id)
    const known = notes.get(id)
    if (found === undefined && rejected === undefined) throw pluginNotFound(id)
    return {
      name: id,
      version: found?.version ?? '',
      kind: found?.manifest.kind,
      state: known?.state ?? unloadedState(host, found),
      isolation: found?.manifest.isolation,
      health: host.health.worst(id) ?? 'unknown',
      loadedAtMs: known?.loadedAtMs,
      error: known?.error ?? catalogue.rejectedAbove(id, live.get(id)?.found.version)?.reason,
      essential: found?.manifest.essential ?? false,
      versions: catalogue.versions(id).map((one) => one.version),
    }
  }
  return {
    of,
    list: () =>
      [...new Set([...catalogue.ids(), ...live.all().map((plugin) => plugin.found.manifest.id)])]
        .sort()
        .map(of),
    before: (id) => notes.get(id)?.before,
    loading: (found) => note(found, { state: 'loading' }),
    running: (found) => {
      const known = notes.get(found.manifest.id)
      const isOther = known?.loadedAtMs !== undefined && known.version !== found.version
      note(found, {
        state: 'running',
        version: found.version,
        error: undefined,
        loadedAtMs: host.clock.nowMs(),
        ...(isOther ? { before: known.version } : {}),
      })
    },
    failed: (found, error) => {
      const { id } = found.manifest
      const isRunning = live.get(id) !== undefined
      note(found, {
        state: isRunning ? 'running' : 'failed',
        error: reasonOf(error),
        ...(isRunning ? {} : { loadedAtMs: undefined }),
      })
      if (!isRunning) host.health.report(id, failedHealth(found))
      host.log.error({ plugin: id, version: found.version, err: error }, 'plugin failed')
    },
    unloaded: (found) => note(found, { state: 'unloaded', error: undefined, loadedAtMs: undefined }),
    leftOut: (found) => void notes.delete(found.manifest.id),
  }
}

function unloadedState(host: PluginHost, found: FoundPlugin | undefined): PluginState {
  if (found === undefined) return 'rejected'
  return leftOutBecause(host, found) === undefined ? 'found' : 'disabled'
}
