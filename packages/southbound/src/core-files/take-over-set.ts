import { join } from 'node:path'
import { type CoreRestored, validationFailed } from '@steeple/contracts'
import { isRestartable } from '../config-set/changes.ts'
import { restartsOf } from '../config-set/daemon.ts'
import { restartAll } from '../config-set/restart-set.ts'
import { type KeptSet, restoreOriginal, takeOver } from '../config-set/take-over.ts'
import { DEFAULT_LIMITS } from '../config-set/verify.ts'
import { type ApplyParts, backupPlaceOf } from './apply-set.ts'
import type { CoreSet } from './core-set.ts'
import { errorWords } from './words.ts'

/** Agrees to what an apply replaces; gives the folder of the copy. Throws as `takeOver` does. */
export async function takeOverSet(
  set: CoreSet,
  named: readonly string[],
  parts: ApplyParts,
): Promise<string> {
  if (parts.context.settings.southbound.driver === 'none')
    throw validationFailed('southbound.driver is none: nothing is written, so there is nothing to agree to')
  const kept = keptSetOf(set, parts)
  return join(kept.originalsDir, await takeOver(kept, named))
}

/** Puts files of others back and restarts who reads them. Throws as `restoreOriginal` does. */
export async function restoreSet(
  set: CoreSet,
  named: string | undefined,
  work: ApplyParts,
  signal: AbortSignal,
): Promise<CoreRestored> {
  signal.throwIfAborted()
  const { copy, changed } = await restoreOriginal(keptSetOf(set, work), named)
  const { context, parts, engine, restarted: count } = work
  if (context.settings.southbound.driver === 'none')
    return {
      copy,
      changed,
      restarted: [],
      problem: 'southbound.driver is none: restart the daemons yourself',
    }
  const reasons = new Map(
    set.daemons
      .filter(({ files }) => files.some((path) => changed.includes(path)))
      .map(({ name }) => [name, 'its own files are back']),
  )
  const restarts = restartsOf(set.daemons, reasons).filter(isRestartable)
  const limits = { ...DEFAULT_LIMITS, ...parts.limits }
  try {
    const { restarted, unwell } = await restartAll(restarts, { engine, limits, restarted: count }, signal)
    const names = restarted.map(({ daemon }) => daemon.name)
    const problem =
      unwell === undefined
        ? undefined
        : `${unwell.restart.daemon.name} does not get well with them: ${errorWords(unwell.words)}`
    return { copy, changed, restarted: names, problem }
  } catch (error) {
    signal.throwIfAborted()
    return {
      copy,
      changed,
      restarted: [],
      problem: `not all daemons were restarted, restart those that read these files: ${errorWords(error)}`,
    }
  }
}

function keptSetOf(set: CoreSet, { context, parts }: ApplyParts): KeptSet {
  if (set.obstacle !== undefined) throw validationFailed(set.obstacle)
  return { ...set, ...backupPlaceOf(context, parts.core), clock: context.clock }
}
