import { join } from 'node:path'
import {
  type Context,
  type CoreApplied,
  type CoreDriver,
  type CoreRestartPlan,
  type CoreRestored,
  type CoreRestorePlan,
  createTurns,
  nodeIdentityRef,
  type Rendered,
  southboundUnavailable,
  systemPrincipal,
  validationFailed,
} from '@steeple/contracts'
import { applyConfigSet } from '../config-set/apply.ts'
import { isRestartable } from '../config-set/changes.ts'
import { copiesIn } from '../config-set/copies.ts'
import { dropsOf, type Restart, restartsOf } from '../config-set/daemon.ts'
import { heldFiles, planConfigSet } from '../config-set/plan.ts'
import { readManifest } from '../config-set/read-set.ts'
import { restartAll } from '../config-set/restart-set.ts'
import { DEFAULT_LIMITS } from '../config-set/verify.ts'
import { coreEngine } from '../core-parts.ts'
import type { Engine } from '../engine/engine.ts'
import { keptOverlays, markOverlays, overlaid } from '../overlay/overlay-files.ts'
import { adoptSet, compareSet, type KeptSet, planRestore, restoreOriginal, takeOver } from './adopt-set.ts'
import { copyPlaceOf, droppedBy, errorWords, heldWords, makePlan } from './core-plan.ts'
import { type CoreFilesParts, type CoreSet, coreSetOf } from './core-set.ts'

interface ApplyParts {
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
async function applySet(
  set: CoreSet,
  { context, parts, engine, restarted }: ApplyParts,
  signal: AbortSignal,
): Promise<CoreApplied> {
  signal.throwIfAborted()
  if (set.obstacle !== undefined) throw southboundUnavailable(set.obstacle)
  const place = copyPlaceOf(context, parts.core)
  const plan = await planConfigSet(set)
  const held = await heldFiles(plan, set.files, copiesIn(place))
  if (held.length > 0) throw southboundUnavailable(heldWords(set.dir, held))
  const refusal = await parts.refusal?.(plan.files, signal)
  if (refusal !== undefined) throw southboundUnavailable(refusal)
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

/** The methods of a `CoreDriver` that are about its files. */
type FilesDriver = Required<
  Pick<
    CoreDriver,
    | 'render'
    | 'plan'
    | 'apply'
    | 'takeOver'
    | 'restoreOriginal'
    | 'planRestore'
    | 'compare'
    | 'adopt'
    | 'overlays'
    | 'putOverlays'
  >
>

/** A core whose configuration is a directory of files and whose daemons are containers: what its driver stands on. */
export interface CoreFiles {
  /**
   * While `southbound.driver` is `none`: `apply` is refused with `southbound_unavailable`, `takeOver` and `adopt` with
   * `validation_failed`, and `restoreOriginal` restarts nobody. `render` gives the overlays of the operator's own, too.
   */
  readonly driver: FilesDriver
  /** For `CoreObserved.configSha256`: hash of the set that the core was last seen well with; undefined when its files differ. */
  appliedSha256(): Promise<string | undefined>
  /**
   * Where the daemons listen: by the set that is in force as of the last `appliedSha256`, since after a refused change they
   * are not where the settings say; by the settings while that is not known, or a change is under way.
   */
  addresses(): Readonly<Record<string, string>>
  /**
   * Restarts daemons and those that follow them with the files that they have, in turn with applies; gives all of them. None when nobody
   * restarts one of them: nothing was applied, no container is named, or `southbound.driver` is `none`. Throws `southbound_unavailable`.
   */
  restart(daemons: readonly string[], why: string, signal: AbortSignal): Promise<readonly string[]>
  /** What `restart` would restart, and how many phones that cuts off; undefined when the core does not tell. */
  planRestart(daemons: readonly string[], signal: AbortSignal): Promise<CoreRestartPlan>
}

/** Call it in `setup`; it opens nothing. `Rendered` sets must be made by `renderedOf`, so that hashes are those of `appliedSha256`. */
export function createCoreFiles(context: Context, parts: CoreFilesParts): CoreFiles {
  const engine = parts.engine ?? coreEngine(() => context.settings, parts.core)
  const work: ApplyParts = { context, parts, engine, restarted: restartCounter(context) }
  /** One apply at a time: two would restart each other's daemons. */
  const inTurn = createTurns()
  let isUnderWay = false
  let inForce: Readonly<Record<string, string>> | undefined
  const applied = async () => await planConfigSet({ ...coreSetOf(context, parts, NOTHING), daemons: [] })
  const usableDir = (): string => {
    const { dir, obstacle } = coreSetOf(context, parts, NOTHING)
    if (obstacle !== undefined) throw southboundUnavailable(obstacle)
    return dir
  }
  const restartsNow = async (names: readonly string[], why: string): Promise<readonly Restart[]> => {
    const isOurs = context.settings.southbound.driver !== 'none'
    if (!isOurs || coreSetOf(context, parts, NOTHING).obstacle !== undefined) return []
    const { applied: before, files } = (await applied()).state.manifest
    if (before === undefined) return []
    const paths = new Map(Object.keys(files).map((path) => [path, '']))
    const { daemons } = coreSetOf(context, parts, { ...NOTHING, files: paths })
    const all = restartsOf(daemons, new Map(names.map((name) => [name, why]))).filter(isRestartable)
    return names.every((name) => all.some(({ daemon }) => daemon.name === name)) ? all : []
  }
  const driver: FilesDriver = {
    render: async (desired, settings = context.settings) => {
      const set = await parts.rendered(desired, settings)
      return await overlaid(parts.place(settings).configDir, set, (theirs) =>
        parts.fit?.(desired, settings, theirs),
      )
    },
    plan: (config, signal, settings = context.settings) => {
      const as = { settings }
      return makePlan(coreSetOf(as, parts, config), { context: as, parts, engine, isUnderWay }, signal)
    },
    takeOver: async (config, named, signal) => {
      signal.throwIfAborted()
      return await inTurn(() => takeOverSet(coreSetOf(context, parts, config), named, work))
    },
    compare: async (desired, settings, signal) =>
      await compareSet(await parts.rendered(desired, settings), settings, work, signal),
    adopt: async (desired, ours, signal) => {
      signal.throwIfAborted()
      const set = await parts.rendered(desired, context.settings)
      return await inTurn(() => adoptSet(set, ours, work))
    },
    overlays: async (signal) => {
      signal.throwIfAborted()
      const dir = usableDir()
      const { manifest, isBroken } = await readManifest(dir)
      return { ...(await keptOverlays(dir)), isNew: manifest.applied === undefined && !isBroken }
    },
    putOverlays: async (mark, text, signal) => {
      signal.throwIfAborted()
      await inTurn(() => markOverlays(usableDir(), mark, text))
    },
    restoreOriginal: async (config, copy, signal) =>
      await inTurn(() => restoreSet(coreSetOf(context, parts, config), copy, work, signal)),
    planRestore: (config, copy, signal) =>
      planRestoreSet(coreSetOf(context, parts, config), copy, work, signal),
    apply: async (config, signal) => {
      signal.throwIfAborted()
      if (context.settings.southbound.driver === 'none')
        throw southboundUnavailable('southbound.driver is none: nothing is written and nobody is restarted')
      return await inTurn(async () => {
        isUnderWay = true
        try {
          return await applySet(coreSetOf(context, parts, config), work, signal)
        } finally {
          isUnderWay = false
        }
      })
    },
  }
  return {
    driver,
    appliedSha256: async () => {
      if (coreSetOf(context, parts, NOTHING).obstacle !== undefined) return undefined
      const { appliedSha256, state } = await applied()
      inForce = appliedSha256 === undefined ? undefined : state.manifest.applied?.addresses
      return appliedSha256
    },
    addresses: () => inForce ?? parts.place(context.settings).addresses,
    restart: async (names, why, signal) => {
      const restarts = await restartsNow(names, why)
      return restarts.length === 0 ? [] : await inTurn(() => restartDaemons(restarts, why, work, signal))
    },
    planRestart: async (names, signal) => {
      const daemons = (await restartsNow(names, '')).map(({ daemon }) => daemon)
      const drops = daemons.map((daemon) => daemon.drops)
      const dropped = await droppedBy(drops, parts, signal)
      return { restarts: daemons.map(({ name }) => name), dropped: dropped.count(dropsOf(daemons)) }
    },
  }
}

/** For a `CoreDriver`; `look` tells how the daemons are now. */
export function restartsDown(
  files: Pick<CoreFiles, 'restart' | 'planRestart'>,
  look: (signal: AbortSignal) => Promise<ReadonlyMap<string, string>>,
): Required<Pick<CoreDriver, 'restartDown' | 'planRestartDown'>> {
  const down = async (signal: AbortSignal): Promise<readonly string[]> =>
    [...(await look(signal))].flatMap(([daemon, state]) => (state === 'down' ? [daemon] : []))
  return {
    restartDown: async (signal) =>
      await files.restart(await down(signal), 'it was down, and somebody asked for it', signal),
    planRestartDown: async (signal) => await files.planRestart(await down(signal), signal),
  }
}

/** No set: what is in a directory is looked at for its own sake. */
const NOTHING: Rendered = { files: new Map(), sha256: '' }

/** Registers the counter under the plugin's own prefix, `svc_driver_core_a_restarts_total{daemon}`; gives what counts. */
function restartCounter({ metrics, plugin }: Context): (daemon: string) => void {
  const restarts = metrics.counter(
    `svc_${plugin.id.replaceAll('-', '_')}_restarts_total`,
    'Restarts of core daemons by this service, including those of a roll-back.',
    ['daemon'],
  )
  return (daemon) => restarts.inc({ daemon })
}

/**
 * Restarts daemons with the files that they have; gives their names. Throws `southbound_unavailable` when the engine does not
 * answer, or one of them does not stay up.
 */
async function restartDaemons(
  restarts: readonly Restart[],
  why: string,
  { context, parts, engine, restarted: count }: ApplyParts,
  signal: AbortSignal,
): Promise<readonly string[]> {
  signal.throwIfAborted()
  const limits = { ...DEFAULT_LIMITS, ...parts.limits }
  const { restarted, unwell } = await restartAll(restarts, { engine, limits, restarted: count }, signal)
  const names = restarted.map(({ daemon }) => daemon.name)
  await audit(context, { core: parts.core, daemons: names, reason: why })
  if (unwell !== undefined)
    throw southboundUnavailable(`${unwell.restart.daemon.name} does not get well: ${unwell.words}`)
  return names
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

/** Agrees to what an apply replaces; gives the folder of the copy. Throws as `takeOver` does. */
async function takeOverSet(set: CoreSet, named: readonly string[], parts: ApplyParts): Promise<string> {
  if (parts.context.settings.southbound.driver === 'none')
    throw validationFailed(
      'southbound.driver is none, so nothing is written; set it to container or systemd first',
    )
  const kept = keptSetOf(set, parts)
  return join(kept.originalsDir, await takeOver(kept, named))
}

/** Puts files of others back and restarts who reads them. Throws as `restoreOriginal` does. */
async function restoreSet(
  set: CoreSet,
  named: string | undefined,
  work: ApplyParts,
  signal: AbortSignal,
): Promise<CoreRestored> {
  signal.throwIfAborted()
  const back = await restoreOriginal(keptSetOf(set, work), named)
  const { context, parts, engine, restarted: count } = work
  if (context.settings.southbound.driver === 'none')
    return { ...back, restarted: [], problem: 'southbound.driver is none: restart the daemons yourself' }
  const restarts = restartsFor(set, back.changed)
  const limits = { ...DEFAULT_LIMITS, ...parts.limits }
  try {
    const { restarted, unwell } = await restartAll(restarts, { engine, limits, restarted: count }, signal)
    const names = restarted.map(({ daemon }) => daemon.name)
    const problem =
      unwell === undefined
        ? undefined
        : `${unwell.restart.daemon.name} does not get well with them: ${errorWords(unwell.words)}`
    return { ...back, restarted: names, problem }
  } catch (error) {
    signal.throwIfAborted()
    return {
      ...back,
      restarted: [],
      problem: `not all daemons were restarted, restart those that read these files: ${errorWords(error)}`,
    }
  }
}

/** Who has to restart when these files are back. */
function restartsFor({ daemons }: CoreSet, changed: readonly string[]): readonly Restart[] {
  const reading = daemons.filter(({ files }) => files.some((path) => changed.includes(path)))
  const reasons = new Map(reading.map(({ name }) => [name, 'its own files are back']))
  return restartsOf(daemons, reasons).filter(isRestartable)
}

/** What `restoreSet` would do. Throws as `planRestore` does. */
async function planRestoreSet(
  set: CoreSet,
  named: string | undefined,
  work: ApplyParts,
  signal: AbortSignal,
): Promise<CoreRestorePlan> {
  signal.throwIfAborted()
  const back = await planRestore(keptSetOf(set, work), named)
  const isRestarting = work.context.settings.southbound.driver !== 'none'
  const daemons = isRestarting ? restartsFor(set, back.changed).map(({ daemon }) => daemon) : []
  const dropped = await droppedBy(
    daemons.map(({ drops }) => drops),
    work.parts,
    signal,
  )
  return {
    ...back,
    restarts: daemons.map(({ name }) => name),
    dropped: dropped.count(dropsOf(daemons)),
  }
}

function keptSetOf(set: CoreSet, { context, parts }: ApplyParts): KeptSet {
  if (set.obstacle !== undefined) throw validationFailed(set.obstacle)
  return { ...set, ...copyPlaceOf(context, parts.core), clock: context.clock }
}
