import { randomUUID } from 'node:crypto'
import {
  type AlertSource,
  type Context,
  type Instance,
  type Plugin,
  pageRoutes,
  type QuotaKeeper,
  quotaKeeperRef,
  subscribersRef,
  usageLedgerRef,
  usageListenerRef,
} from '@steeple/contracts'
import { accountsOf } from './account.ts'
import { usageListener } from './listener.ts'
import { MIGRATIONS } from './migrations.ts'
import { nodeReports } from './node-reports.ts'
import { type FairUseConfig, type FairUseParts, fairUseMetrics, QUOTA_RESOURCE } from './parts.ts'
import { calendarOf, periodClock } from './periods.ts'
import { quotaReconciler } from './quota-reconciler.ts'
import { quotaRoute } from './routes/quota-route.ts'
import { usageRoutes } from './routes/usage-routes.ts'
import { beginEpoch, letGo } from './store/quota-state-store.ts'
import { newQuota, QUOTAS, quotasOf, removeQuota } from './store/quota-store.ts'
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

/** What is used of quotas, and who is kept off by them. */
function quotaKeeper(parts: FairUseParts): QuotaKeeper {
  const { context, clock, ledger } = parts
  return {
    used: async (imsis, tx) => {
      const reader = tx === undefined ? context.db : context.db.join(tx)
      const accounts = await accountsOf(reader, imsis, clock)
      const others = imsis.filter((imsi) => !accounts.has(imsi))
      const { startMs, endMs } = clock.calendar.spanOf('month', clock.now().atMs)
      const sums = await ledger.sums(others, startMs, endMs, tx)
      return new Map(
        imsis.map((imsi) => {
          const account = accounts.get(imsi)
          const usedBytes = account?.usedBytes ?? sums.get(imsi) ?? 0
          return [imsi, { usedBytes, limitBytes: account?.limitBytes }]
        }),
      )
    },
    granted: async (tx, imsis, quotaBytes, like) => {
      const own = context.db.join(tx)
      const model = like === undefined ? undefined : (await quotasOf(own, [like])).get(like)
      for (const imsi of imsis) {
        await QUOTAS.put(own, newQuota(imsi, quotaBytes, clock, model))
        if (quotaBytes === 0) tx.dirty(QUOTA_RESOURCE, imsi, true)
      }
    },
    keepsOff: async (tx, imsi, isOverride) => {
      const own = context.db.join(tx)
      const account = (await accountsOf(own, [imsi], clock)).get(imsi)
      if (account === undefined || !account.isOver || account.isFree) return false
      await letGo(own, imsi)
      // Another one than the quota may let it on: then it is the quota's turn.
      tx.dirty(QUOTA_RESOURCE, imsi, true)
      if (isOverride) await QUOTAS.put(own, { ...account.quota, free_from_ms: account.startMs })
      return !isOverride
    },
  }
}
