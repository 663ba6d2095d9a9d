import { closedItemsRef, type Plugin, pageRoutes } from '@steeple/contracts'
import { type BackupConfig, type BackupParts, backupCount } from './parts.ts'
import { backupRoute, closedHealth, closedRoutes } from './routes/backup-route.ts'
import { restoreRoute } from './routes/restore-route.ts'
import { createSchedule } from './schedule.ts'

/** How often what restores have closed, and what is over since, is removed. */
const SWEEP_MS = 3_600_000

/** Backup and restore of the whole node. */
export const plugin: Plugin<BackupConfig> = {
  setup: async (context) => {
    const parts: BackupParts = { context, count: backupCount(context.metrics) }
    const schedule = createSchedule(parts)
    return {
      routes: [
        backupRoute(parts),
        restoreRoute(parts),
        ...closedRoutes(parts),
        ...pageRoutes(import.meta.url, '/backup-files'),
      ],
      start: async () => {
        if (schedule.lookEveryMs !== undefined)
          context.every(schedule.lookEveryMs, (signal) => schedule.run(signal))
        context.every(SWEEP_MS, async () => {
          // What is over by a clock that leapt may be good still.
          if (context.clock.doubt?.() === undefined)
            await context.db.write((tx) => context.use(closedItemsRef).sweep(tx))
        })
      },
      health: async () => [...(await schedule.health()), ...(await closedHealth(parts))],
    }
  },
}
