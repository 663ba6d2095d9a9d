import { type Plugin, pageRoutes, systemPrincipal } from '@steeple/contracts'
import { type CardWriterConfig, cardRoutes, MIGRATIONS, WRITTEN } from './routes.ts'

export const plugin: Plugin<CardWriterConfig> = {
  migrations: MIGRATIONS,
  tables: [WRITTEN],
  setup: async (context) => ({
    routes: [...cardRoutes(context), ...pageRoutes(import.meta.url, '/card-files')],
    start: async () => {
      context.on('sim.erase', async ({ subject: hash }) => {
        if ((await WRITTEN.find(context.db, { hash })) === undefined) return
        await context.mutate(systemPrincipal('card-writer'), 'card.erase', hash, async (tx) => {
          await WRITTEN.remove(tx, { hash })
        })
      })
    },
  }),
}
