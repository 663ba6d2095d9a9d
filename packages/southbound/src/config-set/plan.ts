import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Engine } from '../engine/engine.ts'
import {
  changeReasons,
  type DaemonChange,
  daemonChanges,
  type FileChange,
  fileChange,
  isRestartable,
  readerOf,
  shownDaemon,
  touchedOf,
  unseenReasons,
} from './changes.ts'
import type { Copies } from './copies.ts'
import { type ConfigSet, type Drops, dropsOf, type Restart, restartsOf } from './daemon.ts'
import { renderedOf, sha256Of } from './files.ts'
import { type Manifest, NO_MANIFEST, ownPaths } from './manifest.ts'
import { readFiles, readManifest } from './read-set.ts'

/** What an apply would do now. */
export interface ConfigSetPlan {
  /** By path. */
  readonly files: readonly FileChange[]
  /** Those that restart first, in that order; then the others. */
  readonly daemons: readonly DaemonChange[]
  /** Whose subscribers drop. */
  readonly drops: Drops
  readonly isInSync: boolean
  /** SHA-256 (as `renderedOf` gives it) of the set that the core was last seen well with; undefined when it differs now. */
  readonly appliedSha256: string | undefined
  /** What an apply needs to know besides. */
  readonly state: {
    readonly manifest: Manifest
    readonly isManifestBroken: boolean
    /** Every daemon that ought to restart, those without a container included. */
    readonly restarts: readonly Restart[]
    /** The files of ours as they are on disk. */
    readonly found: ReadonlyMap<string, string>
  }
}

interface PlanOptions {
  /** Somebody else writes the files and restarts the daemons: files alone count, whatever the manifest says. */
  readonly comparesOnly?: boolean
  /** A change is being made right now: what has begun was not cut short. */
  readonly isUnderWay?: boolean
  /** Tells since when daemons run. Without it every daemon is taken to have read what is in its files. */
  readonly engine?: Pick<Engine, 'inspect'>
  readonly signal?: AbortSignal
}

/**
 * Compares a directory with what ought to be in it; changes nothing. Files of others are not looked at.
 *
 * Throws `southbound_unavailable`: the directory cannot be read, or something else is in a file's place.
 */
export async function planConfigSet(
  set: ConfigSet,
  { comparesOnly = false, isUnderWay = false, engine, signal }: PlanOptions = {},
): Promise<ConfigSetPlan> {
  const { dir, files, daemons } = set
  const { manifest, isBroken } = await readManifest(dir)
  const own = ownPaths(manifest)
  const found = await readFiles(dir, new Set([...files.keys(), ...own]))
  const changes = [...new Set([...files.keys(), ...found.keys()])]
    .sort()
    .map((path) => fileChange(path, set, manifest, found))
  const unread = engine === undefined ? NOBODY : await unreadBy(set, changes, manifest, engine, signal)
  const reasons = new Map([
    ...(comparesOnly ? [] : unseenReasons(set, manifest, isUnderWay)),
    ...changeReasons(daemons, changes, unread),
  ])
  const restarts = restartsOf(daemons, reasons)
  const isSeenWell =
    !isBroken && restarts.length === 0 && manifest.applied?.sha256 === renderedOf(files).sha256
  const applied = manifest.pending === undefined ? manifest.applied?.sha256 : undefined
  return {
    files: changes,
    daemons: daemonChanges(daemons, restarts, comparesOnly, unread),
    drops: dropsOf(restarts.filter((one) => comparesOnly || isRestartable(one)).map(({ daemon }) => daemon)),
    isInSync: (comparesOnly || isSeenWell) && changes.every(({ change }) => change === 'same'),
    appliedSha256: applied === undefined || !isAsApplied(manifest, found) ? undefined : applied,
    state: { manifest, isManifestBroken: isBroken, restarts, found },
  }
}

const NOBODY: ReadonlySet<string> = new Set()
/** A daemon has read its files so long after its start, ms. */
const READ_MS = 10_000

/** Daemons of whose files only edits by hand differ, that were made after they had read them: put right, nothing is new to them. */
async function unreadBy(
  { dir, daemons }: ConfigSet,
  changes: readonly FileChange[],
  { files, pending }: Manifest,
  engine: Pick<Engine, 'inspect'>,
  signal: AbortSignal = new AbortController().signal,
): Promise<ReadonlySet<string>> {
  const unread = new Set<string>()
  for (const daemon of daemons) {
    const { name, container } = daemon
    const touched = touchedOf(daemon, changes)
    const isUndone = touched.every(
      ({ path, isDrift, before, after }) =>
        isDrift && before !== undefined && after !== undefined && files[path]?.sha256 === sha256Of(after),
    )
    if (touched.length === 0 || !isUndone || container === undefined) continue
    if (pending?.daemons.includes(name) === true) continue
    // Where nobody tells, it has read them.
    const state = await engine.inspect(container, signal).catch(() => undefined)
    signal.throwIfAborted()
    if (state?.isRunning !== true || state.startedAtMs === undefined) continue
    const edits = await Promise.all(touched.map(({ path }) => changedAt(join(dir, path))))
    const readAtMs = state.startedAtMs + READ_MS
    if (edits.every((at) => at > readAtMs)) unread.add(name)
  }
  return unread
}

/** When a file was written at the earliest, ms since the epoch: one that was moved there keeps an older time. */
async function changedAt(path: string): Promise<number> {
  const { mtimeMs, ctimeMs } = await stat(path).catch(() => ({ mtimeMs: 0, ctimeMs: 0 }))
  return Math.min(mtimeMs, ctimeMs)
}

/** What a directory would get when nothing is known of it: every file, and no restart. */
export function planOfNothing({ files, daemons }: Omit<ConfigSet, 'dir'>): ConfigSetPlan {
  const changes = [...files.keys()].sort().map(
    (path): FileChange => ({
      path,
      daemon: readerOf(path, daemons),
      change: 'added',
      before: undefined,
      after: files.get(path),
      isDrift: false,
    }),
  )
  return {
    files: changes,
    daemons: daemons.map((daemon) => ({ ...shownDaemon(daemon), action: 'none', reason: 'not compared' })),
    drops: 'none',
    isInSync: false,
    appliedSha256: undefined,
    state: {
      manifest: NO_MANIFEST,
      isManifestBroken: false,
      restarts: [],
      found: new Map(),
    },
  }
}

/** Whether every applied file is as it was applied, and no other one of ours is there. */
function isAsApplied(manifest: Manifest, found: ReadonlyMap<string, string>): boolean {
  const applied = Object.entries(manifest.files)
  return applied.every(([path, { sha256 }]) => sha256Of(found.get(path) ?? '') === sha256)
}

/** The applied set, from what is on disk; undefined when that is something else. */
export function appliedFiles({ state }: ConfigSetPlan): ReadonlyMap<string, string> | undefined {
  const { manifest, found } = state
  if (manifest.applied === undefined || manifest.pending !== undefined) return undefined
  const own = new Map([...found].filter(([path]) => manifest.files[path] !== undefined))
  return renderedOf(own).sha256 === manifest.applied.sha256 ? own : undefined
}

/** Paths of files in places of ours whose content was not written here: by hand, by a package, by another program. */
export async function othersIn(
  { manifest, found }: Pick<ConfigSetPlan['state'], 'manifest' | 'found'>,
  files: ReadonlyMap<string, string>,
  copies: Copies,
): Promise<readonly string[]> {
  const doubtful = [...found].filter(
    ([path, content]) => manifest.files[path]?.sha256 !== sha256Of(content) && files.get(path) !== content,
  )
  if (doubtful.length === 0) return []
  const own = await copies.ownSets()
  return doubtful
    .filter(([path, content]) => !own.some((set) => set.get(path) === content))
    .map(([path]) => path)
}

/**
 * Of these the ones that an apply has to leave alone until somebody agrees: in places that were never ours. Where a file of
 * ours was edited, the edit is kept and the file put right.
 */
export async function heldFiles(
  plan: ConfigSetPlan,
  files: ReadonlyMap<string, string>,
  copies: Copies,
): Promise<readonly string[]> {
  const { manifest } = plan.state
  const agreed = new Set([...ownPaths(manifest), ...manifest.takenOver])
  const others = await othersIn(plan.state, files, copies)
  const back = agreed.size === 0 ? await filesBack(plan.state.found, files, copies) : []
  return [...new Set([...others, ...back])].filter((path) => !agreed.has(path)).toSorted()
}

/**
 * Where no place is ours any more: files that stand as others had them. Taken over with all of their lines, ours were the same,
 * octet by octet.
 */
async function filesBack(
  found: ReadonlyMap<string, string>,
  files: ReadonlyMap<string, string>,
  copies: Copies,
): Promise<readonly string[]> {
  const originals = await Promise.all((await copies.originals()).map((name) => copies.read(name)))
  return [...found]
    .filter(([path, content]) => files.get(path) !== content)
    .filter(([path, content]) => originals.some((one) => one?.get(path) === content))
    .map(([path]) => path)
}
