import { lchownSync, mkdirSync, readFileSync, renameSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { type Log, replaceFileSync } from '@steeple/contracts'
import { type FoundPlugin, installedName } from './manifest.ts'

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

/**
 * Values by name that outlive the process: one small JSON object in the plugins directory. Synchronous: to write there may
 * be the last thing that a process does.
 */
export interface KeptMap<T> {
  read(): ReadonlyMap<string, T>
  /** Sets a value, or takes it away. The file changes whole or not at all. */
  write(key: string, value: T | undefined): void
}

/** What a map may be told beside its file. */
interface KeptMapOptions {
  /** Access rights of the file; the owner's alone when absent. */
  readonly mode?: number
  /** Told once when the file is there and cannot be read as a map. */
  readonly onDamage?: (path: string, error: unknown) => void
}

/**
 * The map in `pluginsDir`; without such a folder nothing is kept. A file that is damaged counts as empty, and is kept beside
 * its successor as `<file>.damaged`.
 */
export function createKeptMap<T>(
  pluginsDir: string | undefined,
  file: string,
  isValue: (value: unknown) => value is T,
  { mode = 0o600, onDamage }: KeptMapOptions = {},
): KeptMap<T> {
  let isDamaged = false
  const damaged = (path: string, error: unknown): void => {
    if (!isDamaged) onDamage?.(path, error)
    isDamaged = true
  }
  const read = (): ReadonlyMap<string, T> => {
    if (pluginsDir === undefined) return new Map()
    const path = join(pluginsDir, file)
    try {
      const parsed: unknown = JSON.parse(readFileSync(path, 'utf8'))
      if (typeof parsed !== 'object' || parsed === null) throw new TypeError('it holds no JSON object')
      isDamaged = false
      return new Map(Object.entries(parsed).filter((entry): entry is [string, T] => isValue(entry[1])))
    } catch (error) {
      if ((error as { code?: unknown }).code !== 'ENOENT') damaged(path, error)
      return new Map()
    }
  }
  return {
    read,
    write: (key, value) => {
      if (pluginsDir === undefined) return
      const kept = new Map(read())
      if (kept.get(key) === value) return
      if (value === undefined) kept.delete(key)
      else kept.set(key, value)
      makeFolder(pluginsDir)
      const path = join(pluginsDir, file)
      replaceFileSync(path, `${JSON.stringify(Object.fromEntries(kept))}\n`, {
        mode,
        owner: ownerOf(pluginsDir),
        before: () => {
          if (isDamaged) renameSync(path, `${path}.damaged`)
        },
      })
    },
  }
}

/** Whom a folder belongs to, when that is to be told: only root writes for others. */
function ownerOf(dir: string): { readonly uid: number; readonly gid: number } | undefined {
  return process.getuid?.() === 0 ? statSync(dir) : undefined
}

/** What a command of root makes, the service must be able to read and to replace: it belongs to the owner of what is above. */
function makeFolder(dir: string): void {
  const top = mkdirSync(dir, { recursive: true, mode: 0o700 })
  if (top === undefined) return
  const owner = ownerOf(dirname(top))
  for (let made = dir; owner !== undefined && made.length >= top.length; made = dirname(made))
    lchownSync(made, owner.uid, owner.gid)
}
