import { randomUUID } from 'node:crypto'
import {
  type AlertSource,
  type Context,
  type Instance,
  type Plugin,
  pageRoutes,
  quotaKeeperRef,
  subscribersRef,
  usageLedgerRef,
  usageListenerRef,
} from '@steeple/contracts'
import { quotaKeeper } from './keeper.ts'
import { usageListener } from './listener.ts'
import { MIGRATIONS } from './migrations.ts'
import { nodeReports } from './node-reports.ts'
import { type FairUseConfig, type FairUseParts, fairUseMetrics } from './parts.ts'
import { calendarOf, periodClock } from './periods.ts'
import { quotaReconciler } from './quota-reconciler.ts'
import { quotaRoute } from './routes/quota-route.ts'
import { usageRoutes } from './routes/usage-routes.ts'
import { beginEpoch } from './store/quota-state-store.ts'
import { QUOTAS, removeQuota } from './store/quota-store.ts'
import { removeReports } from './store/report-store.ts'
import { sweep } from './sweep.ts'
import { countQuotas, type QuotaEdges, quotaHealth } from './watch.ts'

const SWEEP_MS = 3_600_000
const COUNT_MS = 30_000

/** Data quotas of SIMs: counts, and suspends, throttles or tells when they are used up. */
export const plugin: Plugin<FairUseConfig> = {
  migrations: MIGRATIONS,
  tables: [QUOTAS],
  setup: async (context: Context<FairUseConfig>): Promise<Instance> => {
    const calendar = calendarOf(context.config.time_zone || undefined)
    const metrics = fairUseMetrics(context.metrics)
    const parts: FairUseParts = {
      context,
      subscribers: context.use(subscribersRef),
      ledger: context.use(usageLedgerRef),
      clock: periodClock(context.clock, calendar),
      metrics,
      nodes: nodeReports({ context, metrics }),
    }
    let edges: QuotaEdges | undefined
    const count = async (): Promise<void> => {
      edges = await countQuotas(parts)
    }
    const source: AlertSource = {
      bad: async (rule) => (rule === 'sim_quota_80' ? edges?.warned : edges?.exceeded),
    }
    return {
      services: new Map<string, object>([
        ['fair_use.edges', source],
        [usageListenerRef.id, usageListener(parts)],
        [quotaKeeperRef.id, quotaKeeper(parts)],
      ]),
      routes: [quotaRoute(parts), ...usageRoutes(parts), ...pageRoutes(import.meta.url, '/fair-use-files')],
      reconcilers: [quotaReconciler(parts)],
      start: async () => {
        // Whoever leads makes all totals anew: on this instance nobody has counted while the plugin was away.
        await context.db.write((tx) => beginEpoch(tx, randomUUID()))
        context.every(SWEEP_MS, (signal) => sweep(parts, signal))
        context.every(COUNT_MS, count, 'each')
        await count()
        context.on('sim.erase', ({ subject }) =>
          context.db.write(async (tx) => {
            await removeQuota(tx, subject)
            await removeReports(tx, subject)
          }),
        )
      },
      health: async () => [await quotaHealth(parts), ...parts.nodes.health()],
    }
  },
}
