import { type Daemon, type Drops, dropsOf, type Restart, restartsOf } from './daemon.ts'
import { type Manifest, NO_MANIFEST, ownPaths } from './manifest.ts'
import { readFiles, readManifest } from './read-set.ts'
import { renderedOf, sha256Of } from './sha256.ts'

/** A configuration set as it ought to be: path relative to `dir` → content, and who reads what. */
export interface ConfigSet {
  readonly dir: string
  readonly files: ReadonlyMap<string, string>
  /** In the order of their restarts. */
  readonly daemons: readonly Daemon[]
}

/** One file: what is there (`before`) and what ought to be (`after`). */
export interface FileChange {
  readonly path: string
  /** Who reads it; undefined when nobody does any more. */
  readonly daemon: string | undefined
  readonly change: 'added' | 'changed' | 'removed' | 'same'
  readonly before: string | undefined
  readonly after: string | undefined
  /** It is not what was applied last: edited, deleted or half replaced by somebody. */
  readonly isDrift: boolean
}

/** What happens to a daemon. `reason` says why it restarts, or why it does not. */
export interface DaemonChange {
  readonly name: string
  readonly container: string | undefined
  readonly action: 'restart' | 'none'
  readonly drops: Drops
  readonly reason: string
}

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

/** How a directory is compared. */
export interface PlanOptions {
  /** Somebody else writes the files and restarts the daemons: files alone count, whatever the manifest says. */
  readonly comparesOnly?: boolean
}

/**
 * Compares a directory with what ought to be in it; changes nothing. Files of others are not looked at.
 *
 * Throws `southbound_unavailable`: the directory cannot be read, or something else is in a file's place.
 */
export async function planConfigSet(
  set: ConfigSet,
  { comparesOnly = false }: PlanOptions = {},
): Promise<ConfigSetPlan> {
  const { dir, files, daemons } = set
  const { manifest, isBroken } = await readManifest(dir)
  const own = ownPaths(manifest)
  const found = await readFiles(dir, new Set([...files.keys(), ...own]))
  const changes = [...new Set([...files.keys(), ...found.keys()])]
    .sort()
    .map((path) => fileChange(path, set, manifest, found))
  const reasons = new Map([
    ...(comparesOnly ? [] : unseenReasons(set, manifest)),
    ...changeReasons(daemons, changes),
  ])
  const restarts = restartsOf(daemons, reasons)
  const isSeenWell =
    !isBroken && restarts.length === 0 && manifest.applied?.sha256 === renderedOf(files).sha256
  const applied = manifest.pending === undefined ? manifest.applied?.sha256 : undefined
  return {
    files: changes,
    daemons: daemonChanges(daemons, restarts, comparesOnly),
    drops: dropsOf(restarts.filter((one) => comparesOnly || isRestartable(one)).map(({ daemon }) => daemon)),
    isInSync: (comparesOnly || isSeenWell) && changes.every(({ change }) => change === 'same'),
    appliedSha256: applied === undefined || !isAsApplied(manifest, found) ? undefined : applied,
    state: { manifest, isManifestBroken: isBroken, restarts, found },
  }
}

/** Whether somebody can restart it. */
export function isRestartable({ daemon }: Restart): boolean {
  return daemon.container !== undefined
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
    daemons: daemons.map((daemon) => ({ ...shownDaemon(daemon), action: 'none', reason: 'unknown' })),
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

function fileChange(
  path: string,
  { files, daemons }: ConfigSet,
  manifest: Manifest,
  found: ReadonlyMap<string, string>,
): FileChange {
  const before = found.get(path)
  const after = files.get(path)
  const known = manifest.files[path]
  return {
    path,
    daemon: readerOf(path, daemons) ?? known?.daemon,
    change: changeOf(before, after),
    before,
    after,
    isDrift: known !== undefined && (before === undefined || sha256Of(before) !== known.sha256),
  }
}

function changeOf(before: string | undefined, after: string | undefined): FileChange['change'] {
  if (before === undefined) return 'added'
  if (after === undefined) return 'removed'
  return before === after ? 'same' : 'changed'
}

function readerOf(path: string, daemons: readonly Daemon[]): string | undefined {
  return daemons.find(({ files }) => files.includes(path))?.name
}

/** Daemons whose files differ. */
function changeReasons(
  daemons: readonly Daemon[],
  changes: readonly FileChange[],
): ReadonlyMap<string, string> {
  const reasons = new Map<string, string>()
  for (const { name, files } of daemons) {
    const touched = changes.filter(
      ({ path, change, daemon }) => change !== 'same' && (daemon === name || files.includes(path)),
    )
    if (touched.length > 0) reasons.set(name, touched.map(wordsOf).join(', '))
  }
  return reasons
}

/** Daemons that were not seen well with the files that are there. */
function unseenReasons({ files, daemons }: ConfigSet, manifest: Manifest): ReadonlyMap<string, string> {
  const reasons = new Map<string, string>()
  for (const daemon of daemons) {
    const isUnseen = daemon.files.some(
      (path) => manifest.files[path]?.sha256 !== sha256Of(files.get(path) ?? ''),
    )
    if (manifest.pending?.daemons.includes(daemon.name) === true)
      reasons.set(daemon.name, 'an earlier change of its files was cut short')
    else if (isUnseen) reasons.set(daemon.name, 'it was not seen well with the files that are there')
  }
  return reasons
}

function wordsOf({ path, change, isDrift }: FileChange): string {
  return `${path} ${isDrift ? 'is not what was applied' : `is ${change}`}`
}

function daemonChanges(
  daemons: readonly Daemon[],
  restarts: readonly Restart[],
  comparesOnly: boolean,
): readonly DaemonChange[] {
  const restarting = restarts.map(({ daemon, reason }): DaemonChange => {
    const isLeft = daemon.container === undefined && !comparesOnly
    return {
      ...shownDaemon(daemon),
      action: isLeft ? 'none' : 'restart',
      reason: isLeft ? `${reason}, but no container is named for it` : reason,
    }
  })
  const others = daemons
    .filter(({ name }) => !restarts.some(({ daemon }) => daemon.name === name))
    .map((daemon): DaemonChange => ({ ...shownDaemon(daemon), action: 'none', reason: 'nothing changed' }))
  return [...restarting, ...others]
}

function shownDaemon({ name, container, drops }: Daemon): Pick<DaemonChange, 'name' | 'container' | 'drops'> {
  return { name, container, drops }
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
