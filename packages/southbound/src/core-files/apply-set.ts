import { join } from 'node:path'
import { type Context, type CoreApplied, southboundUnavailable } from '@steeple/contracts'
import { applyConfigSet } from '../config-set/apply.ts'
import { type BackupPlace, backupsIn } from '../config-set/backups.ts'
import { heldFiles } from '../config-set/others.ts'
import { planConfigSet } from '../config-set/plan.ts'
import type { Engine } from '../engine/engine.ts'
import type { CoreSet } from './core-set.ts'
import type { CoreFilesParts } from './parts.ts'
import { heldWords } from './words.ts'

/** Folder of the data directory that keeps copies of good configuration sets, for each core in one of its own. */
const BACKUPS = 'core-backups'
/** The same for what others have written: nothing removes those. */
const ORIGINALS = 'core-originals'

/** Where the copies of a core's files lie. */
export function backupPlaceOf({ settings }: Context, core: string): BackupPlace {
  const { data_dir: dir } = settings.server
  return { backupDir: join(dir, BACKUPS, core), originalsDir: join(dir, ORIGINALS, core) }
}

/** What an apply works with. */
export interface ApplyParts {
  readonly context: Context
  readonly parts: CoreFilesParts
  readonly engine: Engine
  /** Counts the restart of a daemon. */
  restarted(daemon: string): void
}

/**
 * Applies a set. Throws as `applyConfigSet` does, and `southbound_unavailable` when no usable directory is configured or files
 * of others are in the way.
 */
export async function applySet(
  set: CoreSet,
  { context, parts, engine, restarted }: ApplyParts,
  signal: AbortSignal,
): Promise<CoreApplied> {
  signal.throwIfAborted()
  if (set.obstacle !== undefined) throw southboundUnavailable(set.obstacle)
  const place = backupPlaceOf(context, parts.core)
  const held = await heldFiles(await planConfigSet(set), set.files, backupsIn(place))
  if (held.length > 0) throw southboundUnavailable(heldWords(set.dir, held))
  return await applyConfigSet(
    {
      ...set,
      ...place,
      engine,
      clock: context.clock,
      probe: parts.probe,
      limits: parts.limits,
      restarted,
      ...(parts.isOutage === undefined ? {} : { isOutage: parts.isOutage }),
    },
    signal,
  )
}
