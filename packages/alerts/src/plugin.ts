import {
  type Context,
  type Instance,
  msFromDuration,
  type Plugin,
  pageRoutes,
  vaultRef,
} from '@steeple/contracts'
import type { AlertsConfig } from './config.ts'
import { alertEngine } from './engine/engine.ts'
import { alertMetrics } from './metrics.ts'
import { MIGRATIONS } from './migrations.ts'
import type { AlertParts } from './parts.ts'
import { alertRoutes } from './routes/alert-routes.ts'
import { receiverRoutes } from './routes/receiver-routes.ts'
import { webhookRoutes } from './routes/webhook-routes.ts'
import { alertRules } from './rules/built-in.ts'
import { ALERTS, FACTS, pruneAlerts, pruneSilences, SILENCES } from './store/alert-store.ts'
import { backlogs, DELIVERIES, forgetTarget, pruneParked } from './store/delivery-store.ts'
import { RECEIVERS } from './store/receiver-store.ts'
import { deliveryReconciler } from './webhooks/deliver.ts'
import { webhookHealth } from './webhooks/health.ts'
import { targetsHere, targetsOf } from './webhooks/target.ts'

const DAY_MS = 86_400_000
/** Alerts of one transaction: others wait as long. */
const CHUNK = 500
/** How long a message that was given up is kept. */
const PARKED_MS: number = 7 * DAY_MS

/** Forgets what nobody needs any more; nothing while the clock is in doubt. */
export async function sweep({ context, targets }: AlertParts, signal: AbortSignal): Promise<void> {
  if (context.clock.doubt?.() !== undefined) return
  const nowMs = Math.floor(context.clock.nowMs())
  const before = nowMs - (msFromDuration(context.config.retention) ?? 90 * DAY_MS)
  while (!signal.aborted && (await context.db.write((tx) => pruneAlerts(tx, before, CHUNK))) === CHUNK);
  await context.db.write(async (tx) => {
    await pruneSilences(tx, nowMs)
    await pruneParked(tx, nowMs - PARKED_MS)
  })
  const names = new Set((await targets()).map(({ name }) => name))
  for (const target of (await backlogs(context.db)).keys()) {
    if (names.has(target)) continue
    const messages = await context.db.write((tx) => forgetTarget(tx, target))
    context.log.warn({ webhook: target, messages }, 'messages of a webhook that is gone are forgotten')
  }
}

const INTERVAL_MS = 5_000
const SWEEP_MS = 3_600_000

/** Who asks while it runs waits for a run that begins afterwards, together with all others who do. */
function oneAtATime(run: () => Promise<void>): () => Promise<void> {
  let running = Promise.resolve()
  let next: Promise<void> | undefined
  return () => {
    next ??= running
      .catch(() => undefined)
      .then(() => {
        next = undefined
        running = run()
        return running
      })
    return next
  }
}

/** Alerts: rules over metrics and states, their list, and webhooks. */
export const plugin: Plugin<AlertsConfig> = {
  migrations: MIGRATIONS,
  tables: [ALERTS, DELIVERIES, FACTS, SILENCES, RECEIVERS],
  setup: async (context: Context<AlertsConfig>): Promise<Instance> => {
    const metrics = alertMetrics(context.metrics)
    const rules = alertRules(context, metrics)
    const vault = context.use(vaultRef)
    const targets = targetsHere(targetsOf(context.config.webhooks), context, vault)
    const parts: AlertParts = { context, metrics, targets, unsent: new Map(), ...rules }
    for (const watch of rules.watches) watch.listen?.()
    const look = oneAtATime(alertEngine(parts))
    // What is over is said to be over as soon as it is.
    if (context.config.enabled) context.on('health.*', look)
    return {
      routes: [
        ...alertRoutes(parts),
        ...webhookRoutes(parts),
        ...receiverRoutes(parts, vault),
        ...pageRoutes(import.meta.url, '/alerts-files'),
      ],
      reconcilers: [deliveryReconciler(parts)],
      start: async () => {
        if (context.config.enabled)
          context.every(msFromDuration(context.config.interval) ?? INTERVAL_MS, look)
        context.every(SWEEP_MS, (signal) => sweep(parts, signal))
      },
      health: () => webhookHealth(parts),
    }
  },
}
