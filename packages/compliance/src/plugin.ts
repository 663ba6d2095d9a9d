import { moveRecorderRef, type Plugin, pageRoutes } from '@steeple/contracts'
import { compareAll, moveRecorder } from './compare.ts'
import { erasureHealth, erasureReconciler } from './erase.ts'
import { MIGRATIONS } from './migrations.ts'
import { type ComplianceParts, complianceCount } from './parts.ts'
import { prune } from './retention.ts'
import { exportRoute } from './routes/export-route.ts'
import { erasuresRoute, forgetRoute } from './routes/forget-route.ts'
import { TABLES } from './store.ts'

const PRUNE_MS = 3_600_000

/** The record of what happened, the regulator's file of it, and the erasure of one person's data. */
export const plugin: Plugin = {
  migrations: MIGRATIONS,
  tables: TABLES,
  setup: async (context) => {
    const parts: ComplianceParts = { context, count: complianceCount(context.metrics) }
    return {
      services: new Map<string, object>([[moveRecorderRef.id, moveRecorder(parts)]]),
      routes: [
        exportRoute(parts),
        forgetRoute(parts),
        erasuresRoute(parts),
        ...pageRoutes(import.meta.url, '/compliance-files'),
      ],
      reconcilers: [erasureReconciler(parts)],
      start: async () => {
        context.every(PRUNE_MS, (signal) => prune(parts, signal))
        // Nobody waits for it: there may be a hundred thousand SIMs.
        void compareAll(parts, context.retiring).catch((error: unknown) => {
          if (!context.retiring.aborted)
            context.log.error({ err: error }, 'the record could not be compared with what is')
        })
      },
      health: async () => [await erasureHealth(parts)],
    }
  },
}
