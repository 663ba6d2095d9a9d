import {
  type Context,
  coreChangesRef,
  coreDriverRef,
  type FoundSettings,
  foundSettingsRef,
  type Instance,
  nodeIdentityRef,
  type Plugin,
  pageRoutes,
  policyRef,
} from '@steeple/contracts'
import { changeRecord } from './core-changes.ts'
import { CORE_CONFIG_RESOURCE, coreReconciler } from './core-reconciler.ts'
import { planRoute, takeOverRoutes } from './core-routes.ts'
import { settingsFound } from './found.ts'
import { adoptRoutes } from './found-route.ts'
import { MIGRATIONS, registerOverlays, TABLES } from './kept-overlays.ts'

/** The owner of the core's settings: renders, plans, applies and rolls back through whichever core driver is installed. */
export const plugin: Plugin = {
  migrations: MIGRATIONS,
  tables: TABLES,
  setup: async (context: Context): Promise<Instance> => {
    registerOverlays(context)
    const key = (): string => context.maybe(nodeIdentityRef)?.nodeId ?? 'core'
    const work = changeRecord(context)
    const control = coreReconciler(context, key, work)
    const wake = (): void => context.enqueue(CORE_CONFIG_RESOURCE, key())
    context.onSettings(() => {
      control.retry()
      wake()
    })
    context.onChange(policyRef, wake)
    context.onChange(coreDriverRef, wake)
    const foundSettings: FoundSettings = { found: (signal) => settingsFound(context, signal) }
    return {
      services: new Map<string, object>([
        [foundSettingsRef.id, foundSettings],
        [coreChangesRef.id, work.changes],
      ]),
      reconcilers: [control.reconciler],
      routes: [
        planRoute(context),
        ...adoptRoutes(context, wake),
        ...takeOverRoutes(context, wake, work),
        ...pageRoutes(import.meta.url, '/core-config-files'),
      ],
      health: async () => control.health(),
    }
  },
}
