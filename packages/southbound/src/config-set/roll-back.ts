import { type ApplyOptions, restartPartsOf } from './apply-options.ts'
import type { Backups } from './backups.ts'
import { type Restart, restartsOf } from './daemon.ts'
import type { Manifest } from './manifest.ts'
import { restartAll } from './restart-set.ts'
import { renderedOf } from './sha256.ts'
import { stageFiles, writeManifest } from './write-set.ts'

/**
 * Those that may run with other files, and whoever restarts after one of them: the way back leaves no more behind than
 * the way there.
 */
function returningOf(
  { daemons }: ApplyOptions,
  restarts: readonly Restart[],
  good: ReadonlyMap<string, string>,
): readonly Restart[] {
  const reasons = new Map(restarts.map(({ daemon, reason }) => [daemon.name, reason]))
  // One that had no files before cannot run with them.
  return restartsOf(daemons, reasons).filter(({ daemon }) => daemon.files.some((path) => good.has(path)))
}

/** Puts the last good files back and restarts those that may run with others. Says how it went. */
export async function rollBack(
  options: ApplyOptions,
  begun: Manifest,
  { restarts, bystanders }: Readonly<Record<'restarts' | 'bystanders', readonly Restart[]>>,
  backups: Backups,
  signal: AbortSignal,
): Promise<string> {
  const fallback = begun.pending?.fallback
  const good = fallback === undefined ? undefined : await backups.read(fallback)
  if (good === undefined || good.size === 0)
    return 'There are no earlier files to go back to: the refused ones stay'
  if (renderedOf(good).sha256 === renderedOf(options.files).sha256)
    return 'These are the last good files already, so something else is wrong'
  const touched = new Set([...(begun.pending?.files ?? []), ...good.keys()])
  const staged = await stageFiles(options.dir, new Map([...touched].map((path) => [path, good.get(path)])))
  await staged.commit()
  const returning = returningOf(options, restarts, good)
  const parts = { ...restartPartsOf(options, begun.applied?.addresses), bystanders }
  const { unwell } = await restartAll(returning, parts, signal)
  if (unwell === undefined) {
    // What it was found with was never seen well by us: it stays to be looked at.
    const pending = begun.applied === undefined ? begun.pending : undefined
    await writeManifest(options.dir, { ...begun, pending })
    return 'The last good files are back, and the core is well with them'
  }
  return `The last good files are back, but ${unwell.restart.daemon.name} does not get well with them either: ${unwell.words}`
}
