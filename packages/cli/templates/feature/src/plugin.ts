import type { Plugin } from '@steeple/contracts'
import type { SamplePluginConfig } from './config.ts'
import { expiryReconciler } from './reconcile.ts'
import { noteRoutes } from './routes.ts'
import { migrations, noteStore, tables } from './store.ts'

/** Notes that operators leave for each other; they go away when they expire. */
export const plugin: Plugin<SamplePluginConfig> = {
  migrations,
  tables,
  // For svc doctor, which asks it whether the service runs or not.
  doctor: ({ config }) => [
    { name: 'sample-plugin', status: 'ok', detail: `has room for ${config.max_notes} notes` },
  ],
  setup: async (context) => {
    const store = noteStore(context.db)
    return {
      routes: noteRoutes(context, store),
      reconcilers: [expiryReconciler(context, store)],
    }
  },
}
