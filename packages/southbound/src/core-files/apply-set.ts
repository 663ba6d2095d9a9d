import { join } from 'node:path'
import { type Context, type CoreApplied, southboundUnavailable } from '@steeple/contracts'
import { applyConfigSet } from '../config-set/apply.ts'
import type { Engine } from '../engine/engine.ts'
import type { CoreSet } from './core-set.ts'
import type { CoreFilesParts } from './parts.ts'

/** Folder of the data directory that keeps copies of good configuration sets, for each core in one of its own. */
const BACKUPS = 'core-backups'

/** What an apply works with. */
export interface ApplyParts {
  readonly context: Context
  readonly parts: CoreFilesParts
  readonly engine: Engine
  /** Counts the restart of a daemon. */
  restarted(daemon: string): void
}

/** Applies a set. Throws as `applyConfigSet` does, and `southbound_unavailable` when no usable directory is configured. */
export async function applySet(
  set: CoreSet,
  { context, parts, engine, restarted }: ApplyParts,
  signal: AbortSignal,
): Promise<CoreApplied> {
  signal.throwIfAborted()
  if (set.obstacle !== undefined) throw southboundUnavailable(set.obstacle)
  return await applyConfigSet(
    {
      ...set,
      engine,
      backupDir: join(context.settings.server.data_dir, BACKUPS, parts.core),
      clock: context.clock,
      probe: parts.probe,
      limits: parts.limits,
      restarted,
      ...(parts.isOutage === undefined ? {} : { isOutage: parts.isOutage }),
    },
    signal,
  )
}
