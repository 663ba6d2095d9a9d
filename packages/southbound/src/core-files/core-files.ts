import {
  type Context,
  type CoreApplied,
  type CorePlan,
  type CoreRestored,
  createTurns,
  type Rendered,
  southboundUnavailable,
} from '@steeple/contracts'
import { planConfigSet } from '../config-set/plan.ts'
import { engineAt } from '../engine/engine.ts'
import { type ApplyParts, applySet } from './apply-set.ts'
import { coreSetOf } from './core-set.ts'
import { makePlan } from './make-plan.ts'
import { restartCounter } from './metrics.ts'
import type { CoreFilesParts } from './parts.ts'
import { restartDaemons } from './restart-daemons.ts'
import { restoreSet, takeOverSet } from './take-over-set.ts'

/** A core whose configuration is a directory of files and whose daemons are containers: what its driver stands on. */
export interface CoreFiles {
  /** For `CoreDriver.apply`. Refused with `southbound_unavailable` while `southbound.driver` is `none`. */
  apply(config: Rendered, signal: AbortSignal): Promise<CoreApplied>
  /** For `CoreDriver.plan`. */
  plan(config: Rendered, signal: AbortSignal): Promise<CorePlan>
  /** For `CoreDriver.takeOver`. Refused with `validation_failed` while `southbound.driver` is `none`. */
  takeOver(config: Rendered, named: readonly string[], signal: AbortSignal): Promise<string>
  /** For `CoreDriver.restoreOriginal`. Restarts nobody while `southbound.driver` is `none`. */
  restoreOriginal(config: Rendered, copy: string | undefined, signal: AbortSignal): Promise<CoreRestored>
  /** For `CoreObserved.configSha256`: hash of the set that the core was last seen well with; undefined when its files differ. */
  appliedSha256(): Promise<string | undefined>
  /**
   * Where the daemons listen: by the set that is in force as of the last `appliedSha256`, since after a refused change they
   * are not where the settings say; by the settings while that is not known, or a change is under way.
   */
  addresses(): Readonly<Record<string, string>>
  /**
   * Restarts daemons and those that follow them with the files that they have, in turn with applies. False when nobody restarts
   * one of them: nothing was applied, no container is named, or `southbound.driver` is `none`. Throws `southbound_unavailable`.
   */
  restart(daemons: readonly string[], why: string, signal: AbortSignal): Promise<boolean>
}

/** Call it in `setup`; it opens nothing. `Rendered` sets must be made by `renderedOf`, so that hashes are those of `appliedSha256`. */
export function createCoreFiles(context: Context, parts: CoreFilesParts): CoreFiles {
  const engine = parts.engine ?? engineAt(() => context.settings.hss.engine_socket)
  const work: ApplyParts = { context, parts, engine, restarted: restartCounter(context) }
  /** One apply at a time: two would restart each other's daemons. */
  const inTurn = createTurns()
  let inForce: Readonly<Record<string, string>> | undefined
  const applied = async () => await planConfigSet({ ...coreSetOf(context, parts, NOTHING), daemons: [] })
  return {
    plan: (config, signal) => makePlan(coreSetOf(context, parts, config), { context, parts, engine }, signal),
    takeOver: async (config, named, signal) => {
      signal.throwIfAborted()
      return await inTurn(() => takeOverSet(coreSetOf(context, parts, config), named, work))
    },
    restoreOriginal: async (config, copy, signal) =>
      await inTurn(() => restoreSet(coreSetOf(context, parts, config), copy, work, signal)),
    apply: async (config, signal) => {
      signal.throwIfAborted()
      if (context.settings.southbound.driver === 'none')
        throw southboundUnavailable('southbound.driver is none: nothing is written and nobody is restarted')
      return await inTurn(() => applySet(coreSetOf(context, parts, config), work, signal))
    },
    appliedSha256: async () => {
      if (coreSetOf(context, parts, NOTHING).obstacle !== undefined) return undefined
      const { appliedSha256, state } = await applied()
      inForce = appliedSha256 === undefined ? undefined : state.manifest.applied?.addresses
      return appliedSha256
    },
    addresses: () => inForce ?? parts.place(context.settings).addresses,
    restart: async (names, why, signal) => {
      if (coreSetOf(context, parts, NOTHING).obstacle !== undefined) return false
      const { applied: before, files } = (await applied()).state.manifest
      if (before === undefined) return false
      const paths = new Map(Object.keys(files).map((path) => [path, '']))
      const { daemons } = coreSetOf(context, parts, { ...NOTHING, files: paths })
      return await inTurn(() => restartDaemons(daemons, names, why, work, signal))
    },
  }
}

/** No set: what is in a directory is looked at for its own sake. */
const NOTHING: Rendered = { files: new Map(), sha256: '' }
