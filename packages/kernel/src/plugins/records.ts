import { type ComponentHealth, type Manifest, type PluginKind, pluginNotFound } from '@steeple/contracts'
import type { Catalogue } from './catalogue.ts'
import { reasonOf } from './failure.ts'
import type { PluginHost } from './host.ts'
import { leftOutBecause } from './left-out.ts'
import type { LiveSet } from './live-set.ts'
import type { FoundPlugin, RejectedPlugin } from './manifest.ts'
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
  /** `advice`: what can be done about it, put behind the reason. */
  failed(found: FoundPlugin, error: unknown, advice?: string): void
  unloaded(found: FoundPlugin): void
  /** The configuration leaves it out now: as if it had never been loaded. */
  leftOut(found: FoundPlugin): void
  /** Forgets its last failure; one that does not run is forgotten as a whole, its health too. */
  takenOut(id: string): void
  isLoading(id: string): boolean
  /** The version whose load failed last, unless one succeeded since. */
  failedVersion(id: string): FoundPlugin | undefined
  /** The version that ran before the running one. */
  before(id: string): string | undefined
  /** As `of`, also of one that failed and is no longer there. */
  lastOf(id: string): PluginRecord
  of(id: string): PluginRecord
  list(): readonly PluginRecord[]
}

interface Note {
  readonly state: PluginState
  readonly version: string
  readonly error: string | undefined
  readonly loadedAtMs: number | undefined
  readonly before: string | undefined
  readonly failed: FoundPlugin | undefined
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
      failed: undefined,
    }
    notes.set(id, { ...known, ...change })
  }
  const recordOf = (id: string, found: FoundPlugin | undefined): PluginRecord => {
    const known = notes.get(id)
    return {
      name: id,
      version: found?.version ?? '',
      kind: found?.manifest.kind,
      state: known?.state ?? unloadedState(host, found),
      isolation: found?.manifest.isolation,
      health: host.health.worst(id) ?? 'unknown',
      loadedAtMs: known?.loadedAtMs,
      error: known?.error ?? rejection(catalogue.rejectedAbove(id, live.get(id)?.found.version)),
      essential: found?.manifest.essential ?? false,
      versions: catalogue.versions(id).map((one) => one.version),
    }
  }
  const of = (id: string): PluginRecord => {
    const found = live.get(id)?.found ?? catalogue.versions(id)[0]
    if (found === undefined && catalogue.rejected(id) === undefined) throw pluginNotFound(id)
    return recordOf(id, found)
  }
  return {
    of,
    lastOf: (id) =>
      catalogue.knows(id) ? of(id) : recordOf(id, live.get(id)?.found ?? notes.get(id)?.failed),
    isLoading: (id) => notes.get(id)?.state === 'loading',
    failedVersion: (id) => notes.get(id)?.failed,
    takenOut: (id) => {
      const running = live.get(id)?.found
      if (running !== undefined) {
        note(running, { error: undefined, failed: undefined })
        return
      }
      notes.delete(id)
      host.health.forget(id)
    },
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
        failed: undefined,
        loadedAtMs: host.clock.nowMs(),
        ...(isOther ? { before: known.version } : {}),
      })
    },
    failed: (found, error, advice) => {
      const { id } = found.manifest
      const isRunning = live.get(id) !== undefined
      note(found, {
        state: isRunning ? 'running' : 'failed',
        error: advice === undefined ? reasonOf(error) : `${reasonOf(error)}; ${advice}`,
        failed: found,
        ...(isRunning ? {} : { loadedAtMs: undefined }),
      })
      if (!isRunning) host.health.report(id, failedHealth(found))
      host.log.error({ plugin: id, version: found.version, err: error }, 'plugin failed')
    },
    unloaded: (found) =>
      note(found, { state: 'unloaded', error: undefined, failed: undefined, loadedAtMs: undefined }),
    leftOut: (found) => void notes.delete(found.manifest.id),
  }
}

function unloadedState(host: PluginHost, found: FoundPlugin | undefined): PluginState {
  if (found === undefined) return 'rejected'
  return leftOutBecause(host, found) === undefined ? 'found' : 'disabled'
}

function rejection(rejected: RejectedPlugin | undefined): string | undefined {
  return rejected === undefined ? undefined : reasonOf(rejected.reason)
}
