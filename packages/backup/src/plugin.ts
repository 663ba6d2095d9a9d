import type { Plugin } from '@steeple/contracts'
import type { BackupConfig } from './config.ts'
import { backupCount } from './metrics.ts'
import type { BackupParts } from './parts.ts'
import { backupRoute } from './routes/backup-route.ts'
import { closedHealth, closedRoutes } from './routes/closed-routes.ts'
import { restoreRoute } from './routes/restore-route.ts'
import { createSchedule } from './schedule.ts'

/** Backup and restore of the whole node. */
export const plugin: Plugin<BackupConfig> = {
  setup: async (context) => {
    const parts: BackupParts = { context, count: backupCount(context.metrics) }
    const schedule = createSchedule(parts)
    return {
      routes: [backupRoute(parts), restoreRoute(parts), ...closedRoutes(parts)],
      start: async () => {
        if (schedule.lookEveryMs !== undefined)
          context.every(schedule.lookEveryMs, (signal) => schedule.run(signal))
      },
      health: async () => [...(await schedule.health()), ...(await closedHealth(parts))],
    }
  },
}
