import type { ConfigSet, Daemon, Drops, Restart } from './daemon.ts'
import { sha256Of } from './files.ts'
import type { Manifest } from './manifest.ts'

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

/** Whether somebody can restart it. */
export function isRestartable({ daemon }: Restart): boolean {
  return daemon.container !== undefined
}

/** What becomes of one file of a set. */
export function fileChange(
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

/** Who reads a file: the first in the order of restarts. */
export function readerOf(path: string, daemons: readonly Daemon[]): string | undefined {
  return daemons.find(({ files }) => files.includes(path))?.name
}

/** The files of a daemon that differ. */
export function touchedOf({ name, files }: Daemon, changes: readonly FileChange[]): readonly FileChange[] {
  return changes.filter(
    ({ path, change, daemon }) => change !== 'same' && (daemon === name || files.includes(path)),
  )
}

/** Daemons whose files differ, but for those that never read what differs. */
export function changeReasons(
  daemons: readonly Daemon[],
  changes: readonly FileChange[],
  unread: ReadonlySet<string>,
): ReadonlyMap<string, string> {
  const reasons = new Map<string, string>()
  for (const daemon of daemons) {
    const { name } = daemon
    const touched = touchedOf(daemon, changes)
    if (touched.length > 0 && !unread.has(name)) reasons.set(name, touched.map(wordsOf).join(', '))
  }
  return reasons
}

/** Daemons that were not seen well with the files that are there. */
export function unseenReasons(
  { files, daemons }: ConfigSet,
  manifest: Manifest,
  isUnderWay: boolean,
): ReadonlyMap<string, string> {
  const reasons = new Map<string, string>()
  const begun = isUnderWay
    ? 'its files are being changed now'
    : 'an earlier change of its files was cut short'
  for (const daemon of daemons) {
    const isUnseen = daemon.files.some(
      (path) => manifest.files[path]?.sha256 !== sha256Of(files.get(path) ?? ''),
    )
    if (manifest.pending?.daemons.includes(daemon.name) === true) reasons.set(daemon.name, begun)
    else if (isUnseen) reasons.set(daemon.name, 'it was not seen well with the files that are there')
  }
  return reasons
}

function wordsOf({ path, change, isDrift }: FileChange): string {
  return `${path} ${isDrift ? 'is not what was applied' : `is ${change}`}`
}

/** What happens to every daemon; those that restart come first, in that order. */
export function daemonChanges(
  daemons: readonly Daemon[],
  restarts: readonly Restart[],
  comparesOnly: boolean,
  unread: ReadonlySet<string>,
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
    .map(
      (daemon): DaemonChange => ({
        ...shownDaemon(daemon),
        action: 'none',
        reason: unread.has(daemon.name) ? 'it has not read the edit of its file' : 'nothing changed',
      }),
    )
  return [...restarting, ...others]
}

/** What of a daemon is told. */
export function shownDaemon({
  name,
  container,
  drops,
}: Daemon): Pick<DaemonChange, 'name' | 'container' | 'drops'> {
  return { name, container, drops }
}
