import { rm } from 'node:fs/promises'
import { pluginNotFound } from '@steeple/contracts'
import type { Catalogue } from './catalogue.ts'
import type { LiveSet } from './live-set.ts'
import type { PluginRecord, Records } from './records.ts'
import type { Trials } from './trials.ts'

/** What taking out works with. */
export interface TakeOutParts {
  readonly catalogue: Catalogue
  readonly live: LiveSet
  readonly records: Records
  readonly trials: Trials
}

/**
 * Removes the folders of installed versions of a plugin that failed when they were loaded last, or that are unusable, and
 * what is remembered of them. What runs goes on. Undefined when there is no such version; throws `plugin_not_found`.
 */
export async function takeOut(
  name: string,
  { catalogue, live, records, trials }: TakeOutParts,
): Promise<PluginRecord | undefined> {
  const failed = records.failedVersion(name)
  await catalogue.scan()
  const past = await trials.read()
  const isFailed = (dir: string): boolean => dir === failed?.dir
  const dirs = [
    ...catalogue.unusable(name),
    ...catalogue
      .versions(name)
      .filter(({ origin }) => origin === 'installed')
      .filter((found) => past.failureOf(found) !== undefined || isFailed(found.dir)),
  ]
    .map(({ dir }) => dir)
    .filter((dir) => dir !== live.get(name)?.found.dir)
  const isGone = failed?.origin === 'installed' && !catalogue.versions(name).some(({ dir }) => isFailed(dir))
  if (dirs.length === 0 && !isGone) {
    if (!catalogue.knows(name)) throw pluginNotFound(name)
    return undefined
  }
  const before = records.lastOf(name)
  for (const dir of dirs) {
    await rm(dir, { recursive: true, force: true })
    await trials.forget(dir)
  }
  if (isGone) await trials.forget(failed.dir)
  await catalogue.scan()
  records.takenOut(name)
  const isLeft = catalogue.knows(name) || live.get(name) !== undefined
  return isLeft
    ? records.of(name)
    : { ...before, state: 'unloaded', health: 'unknown', error: undefined, versions: [] }
}
