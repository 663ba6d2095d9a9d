import { basename } from 'node:path'
import type { Log } from '@steeple/contracts'
import { createKeptMap } from './kept-map.ts'
import type { FoundPlugin } from './manifest.ts'
import { installedName } from './sources.ts'

/** What is kept of a plugin over restarts. */
interface KeptState {
  /** Somebody has switched it off. */
  readonly isDisabled?: boolean
  /** The version that a rollback chose, or that stayed because a later one failed: no start goes forward by itself. */
  readonly version?: string
  /** How the last load of each installed folder went: `RAN`, or why it failed. */
  readonly loads?: Readonly<Record<string, string>>
  /** How often in a row the service has ended with an error that may be of that folder's code. */
  readonly crashes?: Readonly<Record<string, number>>
}

type Changed = { readonly [K in keyof KeptState]: KeptState[K] | undefined }

/** What is kept of all plugins. */
export interface KeptStates {
  of(id: string): KeptState
  all(): ReadonlyMap<string, KeptState>
  /** Throws when it cannot be written. */
  change(id: string, change: Changed): void
  /** Whether this very folder was once loaded without trouble. */
  hasRun(found: FoundPlugin): boolean
  /** Why the last load of this very folder failed; undefined for one that ran or was never tried. */
  failureOf(found: FoundPlugin): string | undefined
  /** How the load of an installed version went. What cannot be written is logged: a full disk keeps no plugin from running. */
  noteLoad(found: FoundPlugin, outcome: string | undefined): void
  /** Folders that are gone. */
  forget(id: string, folders: readonly string[]): void
}

const FILE = 'state.json'
/** The outcome of a load without trouble. */
export const RAN = 'ran'
/** The outcome of one that is under way: what a start finds after the process ended in the middle. */
export const ENDED = 'the service ended while it was loaded'

/** The states in `state.json` of the plugins directory. */
export function createKeptStates(pluginsDir: string | undefined, log: Log | undefined): KeptStates {
  const kept = createKeptMap(pluginsDir, FILE, isKeptState, {
    onDamage: (path, error) =>
      log?.error(
        { path, err: error },
        'what is kept of plugins is damaged: what was disabled runs again; disable it again, or put the file back',
      ),
  })
  const of = (id: string): KeptState => kept.read().get(id) ?? {}
  const change = (id: string, changed: Changed): void => {
    const next = Object.entries({ ...of(id), ...changed }).filter(([, value]) => isWorthKeeping(value))
    kept.write(id, next.length === 0 ? undefined : Object.fromEntries(next))
  }
  const outcomeOf = ({ origin, manifest, dir }: FoundPlugin): string | undefined =>
    origin === 'installed' ? of(manifest.id).loads?.[basename(dir)] : undefined
  return {
    of,
    all: () => kept.read(),
    change,
    hasRun: (found) => outcomeOf(found) === RAN,
    failureOf: (found) => (outcomeOf(found) === RAN ? undefined : outcomeOf(found)),
    noteLoad: ({ origin, manifest: { id }, dir }, outcome) => {
      if (origin !== 'installed') return
      try {
        const { [basename(dir)]: _, ...others } = of(id).loads ?? {}
        change(id, { loads: outcome === undefined ? others : { ...others, [basename(dir)]: outcome } })
      } catch (error) {
        log?.warn({ err: error, dir }, 'outcome of a plugin load could not be noted')
      }
    },
    forget: (id, folders) => {
      const { loads, crashes, version } = of(id)
      const isGone = folders.some((folder) => installedName(folder)?.version === version)
      change(id, {
        loads: without(loads, folders),
        crashes: without(crashes, folders),
        version: isGone ? undefined : version,
      })
    },
  }
}

function without<T>(of: Readonly<Record<string, T>> = {}, names: readonly string[]): Record<string, T> {
  return Object.fromEntries(Object.entries(of).filter(([name]) => !names.includes(name)))
}

function isKeptState(value: unknown): value is KeptState {
  return typeof value === 'object' && value !== null
}

function isWorthKeeping(value: unknown): boolean {
  return typeof value === 'object' && value !== null ? Object.keys(value).length > 0 : Boolean(value)
}
