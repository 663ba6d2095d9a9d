import {
  type ComponentHealth,
  type Context,
  type CoreDesired,
  createTurns,
  nodeIdentityRef,
  type Reconciler,
  type Rendered,
  type Route,
  southboundUnavailable,
} from '@steeple/contracts'
import { planConfigSet } from '../config-set/plan.ts'
import { engineAt } from '../engine/engine.ts'
import { type ApplyParts, applySet } from './apply-set.ts'
import { CORE_CONFIG_RESOURCE, coreReconciler } from './core-reconciler.ts'
import { coreSetOf, wantedSet } from './core-set.ts'
import { wishesOf } from './desired.ts'
import { makePlan } from './make-plan.ts'
import { coreMetrics } from './metrics.ts'
import type { CoreConfigParts } from './parts.ts'
import type { CorePlan } from './plan-record.ts'
import { planRoute } from './plan-route.ts'

/** How often the policy is asked whether it wants something else of the core, ms. */
const WATCH_MS = 2_000

/** What both core drivers contribute to their plugin. */
export interface CoreConfig {
  /** For `CoreDriver.apply`. Refused with `southbound_unavailable` while `southbound.driver` is `none`. */
  apply(config: Rendered, signal: AbortSignal): Promise<void>
  /** For `CoreObserved.configSha256`: hash of the set that the core was last seen well with; undefined when its files differ. */
  appliedSha256(): Promise<string | undefined>
  /** What the settings and the policy ask for now. */
  desired(): CoreDesired
  /** What an apply would change now. Changes nothing. */
  plan(signal: AbortSignal): Promise<CorePlan>
  readonly reconciler: Reconciler
  readonly routes: readonly Route[]
  /** The component `core`: degraded while its configuration is not in force; required under `container`. */
  health(): readonly ComponentHealth[]
}

/**
 * Keeps a core at the configuration that settings and policy ask for. Call it in `setup`; it opens nothing. `Rendered`
 * sets must be made by `renderedOf`, so that their hashes are those of `appliedSha256`.
 */
export function createCoreConfig(context: Context, parts: CoreConfigParts): CoreConfig {
  const engine = parts.engine ?? engineAt(() => context.settings.hss.engine_socket)
  const apply: ApplyParts = { context, parts, engine, metrics: coreMetrics(context) }
  const key = (): string => context.maybe(nodeIdentityRef)?.nodeId ?? 'core'
  const wishes = wishesOf(context, parts)
  /** One apply at a time: two would restart each other's daemons. */
  const inTurn = createTurns()
  const control = coreReconciler({
    ...apply,
    key,
    wanted: () => wantedSet(context, parts, wishes),
    applyInTurn: (set, signal) => inTurn(() => applySet(set, apply, signal)),
  })
  let watched = JSON.stringify(wishes.now())
  const wake = (): void => context.enqueue(CORE_CONFIG_RESOURCE, key())
  context.onSettings(() => {
    control.retry()
    wake()
  })
  context.every(WATCH_MS, async () => {
    const now = JSON.stringify(wishes.now())
    if (now === watched) return
    watched = now
    wake()
  })
  const plan = (signal: AbortSignal): Promise<CorePlan> =>
    makePlan({ context, parts, engine, wishes }, signal)
  return {
    desired: () => wishes.now(),
    plan,
    reconciler: control.reconciler,
    routes: [planRoute(plan)],
    health: control.health,
    apply: async (config, signal) => {
      signal.throwIfAborted()
      if (context.settings.southbound.driver === 'none')
        throw southboundUnavailable('southbound.driver is none: nothing is written and nobody is restarted')
      await inTurn(() => applySet(coreSetOf(context, parts, config), apply, signal))
    },
    appliedSha256: async () => {
      const set = coreSetOf(context, parts, { files: new Map(), sha256: '' })
      if (set.obstacle !== undefined) return undefined
      return (await planConfigSet({ ...set, daemons: [] })).appliedSha256
    },
  }
}
