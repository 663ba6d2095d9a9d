import { type Clock, type ComponentState, policyRef, stateTeller } from '@steeple/contracts'
import type { Secrets } from '@steeple/secrets'
import { createAuditTrail, type PacedAuditTrail } from '../audit/audit-trail.ts'
import { createHealthBoard, type HealthPoller } from '../health.ts'
import { createLimits, createMutations } from '../mutation/create-mutations.ts'
import type { Mutations } from '../mutation/mutations.ts'
import { createOutbox, type OutboxFeed } from '../mutation/outbox.ts'
import { createReconcileEngine, type ReconcileEngine } from '../reconcile/reconcile-engine.ts'
import { createScheduler, type Scheduler } from '../reconcile/scheduler.ts'
import type { KernelLog } from '../telemetry/log.ts'
import type { KernelBase } from './kernel-base.ts'

/** The event that says how a component is now. */
const TYPES: Readonly<Record<string, string>> = {
  ok: 'health.ok',
  degraded: 'health.degraded',
  down: 'health.down',
}

/**
 * Tells of components that change their status, in the stream of events: `health.down` with the name of the component. One that was never
 * told of was well. While the store takes no events they wait.
 */
function healthNews(
  clock: Clock,
  mutations: Pick<Mutations, 'observe'>,
): (states: ReadonlyMap<string, ComponentState['status']>) => void {
  const tell = stateTeller(clock, 'ok', (changes) =>
    mutations.observe('kernel', async (tx) => {
      for (const { key, state, was } of changes)
        tx.event({ type: TYPES[state] ?? 'health.degraded', subject: key, data: { status: state, was } })
    }),
  )
  return (states) => void tell(states)
}

/** How something comes to be: by a mutation, by a reconciler, by the hour; and how it is seen to be well. */
export interface Runtime {
  readonly outbox: OutboxFeed
  readonly audit: PacedAuditTrail
  readonly reconciler: ReconcileEngine
  readonly mutations: Mutations
  readonly health: HealthPoller
  readonly scheduler: Scheduler
}

/** Wires them. Nothing runs before it is begun. */
export function createRuntime(
  { secrets, log }: { readonly secrets: Secrets; readonly log: KernelLog },
  { clock, timers, store, cluster, reasons, metrics, tracing, services }: KernelBase,
): Runtime {
  const { db, vault, anchor } = store
  const { auditKey } = secrets
  const { placement, shared } = cluster
  const outbox = createOutbox({ db })
  const reconciler = createReconcileEngine({
    ...{ clock, timers, tracing, placement },
    log: log.child({ component: 'reconcile' }),
    metrics: metrics.kernel,
    elsewhere: (key) => cluster.send(key),
  })
  const limitsOf = createLimits()
  const mutations = createMutations({
    ...{ db, vault, clock, auditKey, tracing, shared },
    limits: () => limitsOf(services.maybe(policyRef)?.bundle().rate_limits),
    // What runs elsewhere was left there by the transaction.
    onDirty: reconciler.enqueueHere,
    onEvents: (types) => outbox.committed(types),
  })
  const health = createHealthBoard({
    ...{ clock, timers, log, isReady: () => reconciler.isReady },
    tell: healthNews(clock, mutations),
  })
  const audit = createAuditTrail({ db, clock, auditKey, anchor })
  const scheduler = createScheduler({ timers, log, placement, reasons })
  return { outbox, audit, reconciler, mutations, health, scheduler }
}
