import { type Context, nodeIdentityRef, southboundUnavailable, systemPrincipal } from '@steeple/contracts'
import { isRestartable } from '../config-set/changes.ts'
import { type Daemon, restartsOf } from '../config-set/daemon.ts'
import { restartAll } from '../config-set/restart-set.ts'
import { DEFAULT_LIMITS } from '../config-set/verify.ts'
import type { ApplyParts } from './apply-set.ts'

/**
 * Restarts daemons with the files that they have, and those that follow them. False when nobody restarts one of them. Throws
 * `southbound_unavailable` when the engine does not answer, or one of them does not stay up.
 */
export async function restartDaemons(
  daemons: readonly Daemon[],
  names: readonly string[],
  why: string,
  { context, parts, engine, restarted: count }: ApplyParts,
  signal: AbortSignal,
): Promise<boolean> {
  signal.throwIfAborted()
  const restarts = restartsOf(daemons, new Map(names.map((name) => [name, why]))).filter(isRestartable)
  const isOurs = context.settings.southbound.driver === 'container'
  if (!isOurs || !names.every((name) => restarts.some(({ daemon }) => daemon.name === name))) return false
  const limits = { ...DEFAULT_LIMITS, ...parts.limits }
  const { restarted, unwell } = await restartAll(restarts, { engine, limits, restarted: count }, signal)
  const facts = { core: parts.core, daemons: restarted.map(({ daemon }) => daemon.name), reason: why }
  await audit(context, facts)
  if (unwell !== undefined)
    throw southboundUnavailable(`${unwell.restart.daemon.name} does not get well: ${unwell.words}`)
  return true
}

/** What cannot be written into the trail now is in the log. */
async function audit(context: Context, detail: Readonly<Record<string, unknown>>): Promise<void> {
  const target = context.maybe(nodeIdentityRef)?.nodeId ?? 'core'
  try {
    await context.mutate(systemPrincipal('core_config'), 'core.restart', target, async (tx) => {
      tx.audit({ detail })
    })
  } catch (error) {
    context.log.error({ err: error, ...detail }, 'audit entry could not be written')
  }
}
