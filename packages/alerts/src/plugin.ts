import { type Context, type Instance, msFromDuration, type Plugin } from '@steeple/contracts'
import type { AlertsConfig } from './config.ts'
import { alertEngine } from './engine/engine.ts'
import { alertMetrics } from './metrics.ts'
import { MIGRATIONS } from './migrations.ts'
import type { AlertParts } from './parts.ts'
import { alertRoutes } from './routes/alert-routes.ts'
import { webhookRoutes } from './routes/webhook-routes.ts'
import { watchesOf } from './rules/built-in.ts'
import { ALERTS } from './store/alert-store.ts'
import { DELIVERIES } from './store/delivery-store.ts'
import { FACTS } from './store/fact-store.ts'
import { SILENCES } from './store/silence-store.ts'
import { sweep } from './sweep.ts'
import { deliveryReconciler } from './webhooks/deliver.ts'
import { webhookHealth } from './webhooks/health.ts'
import { targetsOf } from './webhooks/target.ts'

const INTERVAL_MS = 5_000
const SWEEP_MS = 3_600_000

/** Alerts: rules over metrics and states, their list, and webhooks. */
export const plugin: Plugin<AlertsConfig> = {
  migrations: MIGRATIONS,
  tables: [ALERTS, DELIVERIES, FACTS, SILENCES],
  setup: async (context: Context<AlertsConfig>): Promise<Instance> => {
    const metrics = alertMetrics(context.metrics)
    const watches = watchesOf(context, metrics)
    const parts: AlertParts = { context, metrics, watches, targets: targetsOf(context.config.webhooks) }
    for (const watch of watches) watch.listen?.()
    const engine = alertEngine(parts)
    return {
      routes: [...alertRoutes(parts), ...webhookRoutes(parts)],
      reconcilers: [deliveryReconciler(parts)],
      start: async () => {
        if (context.config.enabled)
          context.every(msFromDuration(context.config.interval) ?? INTERVAL_MS, () => engine.look())
        context.every(SWEEP_MS, (signal) => sweep(parts, signal))
      },
      health: () => webhookHealth(parts),
    }
  },
}
