import { coreConfigRefused, southboundUnavailable } from '@steeple/contracts'
import type { Engine } from '../engine/engine.ts'
import { type ApplyOptions, restartPartsOf } from './apply-options.ts'
import { begin, fallbackOf, finish, refuse, settle } from './apply-record.ts'
import { backupsIn } from './backups.ts'
import { isRestartable } from './changes.ts'
import type { Restart } from './daemon.ts'
import { planConfigSet } from './plan.ts'
import { restartAll } from './restart-set.ts'
import { rollBack } from './roll-back.ts'
import { asked } from './verify.ts'

/** What an apply did. */
export interface ApplyResult {
  readonly changed: readonly string[]
  readonly restarted: readonly string[]
  /** Daemons whose files changed, but that nobody restarts: no container is named. */
  readonly unmanaged: readonly string[]
}

/**
 * Makes the core run with a configuration set: writes what differs, restarts whom it concerns, sees that they get well.
 * Idempotent, and safe to be killed at any point: the next apply goes on.
 *
 * Throws
 * - `southbound_unavailable`: the directory or the engine cannot be used, or a container is missing. Nothing was
 *   changed, or the next apply takes it up again.
 * - `core_config_refused`: a daemon did not get well with it, or one that is not restarted lost what it needs of another.
 *   The last good files are back and the daemons were restarted with them; the message says which daemon, its own last words, and how the way back went.
 * - the signal's reason.
 */
export async function applyConfigSet(options: ApplyOptions, signal: AbortSignal): Promise<ApplyResult> {
  signal.throwIfAborted()
  const plan = await planConfigSet(options)
  const { manifest } = plan.state
  if (plan.isInSync) {
    await settle(options, manifest)
    return { changed: [], restarted: [], unmanaged: [] }
  }
  const restarts = plan.state.restarts.filter(isRestartable)
  for (const restart of restarts) await expectContainer(options.engine, restart, signal)
  const bystanders = await bystandersOf(options, plan, signal)
  const backups = backupsIn(options)
  const fallback = await fallbackOf(plan, options.files, backups, options.clock)
  // Before anything is touched: what fails only afterwards would have the core restarted again and again.
  const copy = await backups.keep(options.files, options.clock.nowMs())
  const touched = plan.files.filter(({ change }) => change !== 'same')
  const begun = await begin(options, plan, fallback, signal)
  const parts = { ...restartPartsOf(options, options.addresses ?? {}), bystanders }
  const { restarted, unwell } = await restartAll(plan.state.restarts, parts, signal)
  if (unwell !== undefined) {
    const again = plan.state.restarts.filter(
      (one) => restarted.includes(one) || manifest.pending?.daemons.includes(one.daemon.name) === true,
    )
    const words = await rollBack(options, begun, { restarts: again, bystanders }, backups, signal)
    const { name } = unwell.restart.daemon
    const what = bystanders.includes(unwell.restart)
      ? 'no longer does its work beside the new configuration of others'
      : 'does not get well with its new configuration'
    const why = `${name} ${what}: ${unwell.words}`
    await refuse(options, why)
    if (copy.isNew) await backups.drop(copy.name)
    throw coreConfigRefused(`${why}. ${words}`)
  }
  await finish(options, plan, copy.name)
  await backups.prune([copy.name]).catch(() => undefined) // too many copies are no reason to fail
  return {
    changed: touched.map(({ path }) => path),
    restarted: restarted.map(({ daemon }) => daemon.name),
    unmanaged: plan.state.restarts.filter((one) => !isRestartable(one)).map(({ daemon }) => daemon.name),
  }
}

/** The daemons that are not restarted and do their work now: a change must not cost them that. One look, all at once. */
async function bystandersOf(
  options: ApplyOptions,
  { state: { restarts, manifest } }: Awaited<ReturnType<typeof planConfigSet>>,
  signal: AbortSignal,
): Promise<readonly Restart[]> {
  const { probe } = restartPartsOf(options, manifest.applied?.addresses)
  if (probe === undefined) return []
  const others = options.daemons.filter(({ name }) => !restarts.some(({ daemon }) => daemon.name === name))
  const looks = others.map(async (daemon) => {
    const problem = await asked(probe, daemon.name, Number.POSITIVE_INFINITY, signal)
    return problem === undefined ? [{ daemon, reason: 'it did its work before' }] : []
  })
  return (await Promise.all(looks)).flat()
}

async function expectContainer(engine: Engine, { daemon }: Restart, signal: AbortSignal): Promise<void> {
  const { name, container = '' } = daemon
  if ((await engine.inspect(container, signal)) !== undefined) return
  throw southboundUnavailable(
    `the engine has no container ${container}, which is named for ${name}; nothing was changed`,
  )
}
