import { join } from 'node:path'
import {
  type Context,
  coreConfigRefused,
  isServiceError,
  nodeIdentityRef,
  southboundUnavailable,
  systemPrincipal,
} from '@steeple/contracts'
import { type ApplyResult, applyConfigSet } from '../config-set/apply.ts'
import type { Engine } from '../engine/engine.ts'
import type { CoreSet } from './core-set.ts'
import type { CoreMetrics } from './metrics.ts'
import type { CoreConfigParts } from './parts.ts'
import { errorWords } from './words.ts'

/** Folder of the data directory that keeps copies of good configuration sets, for each core in one of its own. */
const BACKUPS = 'core-backups'

/** What an apply works with. */
export interface ApplyParts {
  readonly context: Context
  readonly parts: CoreConfigParts
  readonly engine: Engine
  readonly metrics: CoreMetrics
}

/**
 * Applies a set; counts, logs and audits what came of it. Throws as `applyConfigSet` does, and
 * `southbound_unavailable` when no usable directory is configured.
 */
export async function applySet(
  set: CoreSet,
  { context, parts, engine, metrics }: ApplyParts,
  signal: AbortSignal,
): Promise<ApplyResult> {
  signal.throwIfAborted()
  if (set.obstacle !== undefined) throw southboundUnavailable(set.obstacle)
  const facts = { core: parts.core, config_dir: set.dir }
  try {
    const result = await applyConfigSet(
      {
        ...set,
        engine,
        backupDir: join(context.settings.server.data_dir, BACKUPS, parts.core),
        clock: context.clock,
        probe: parts.probe,
        limits: parts.limits,
        restarted: metrics.restarted,
      },
      signal,
    )
    if (result.changed.length === 0 && result.restarted.length === 0) return result
    metrics.ended('applied')
    context.log.info({ ...facts, ...result }, 'core configuration applied')
    await audit(context, 'core.config_apply', { ...facts, ...result })
    return result
  } catch (error) {
    signal.throwIfAborted()
    const isRefused = isServiceError(error) && error.code === coreConfigRefused.code
    metrics.ended(isRefused ? 'refused' : 'failed')
    if (isRefused) {
      const reason = errorWords(error)
      context.log.error({ ...facts, reason }, 'core refused its configuration')
      await audit(context, 'core.config_refused', { ...facts, reason })
    }
    throw error
  }
}

/** The trail tells the story; what cannot be written there now is in the log. */
async function audit(
  context: Context,
  action: string,
  detail: Readonly<Record<string, unknown>>,
): Promise<void> {
  const target = context.maybe(nodeIdentityRef)?.nodeId ?? 'core'
  try {
    await context.mutate(systemPrincipal('core_config'), action, target, async (tx) => {
      tx.audit({ detail })
    })
  } catch (error) {
    context.log.error({ err: error, action }, 'audit entry could not be written')
  }
}
