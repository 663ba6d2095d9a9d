import { type Context, healthBoardRef, type Instance, type Plugin } from '@steeple/contracts'
import { scrubOf } from './bundle/bundle.ts'
import { createHealthHistory } from './health-history.ts'
import type { SupportParts } from './parts.ts'
import { bundleRoute } from './routes/bundle-route.ts'
import { levelRoutes } from './routes/level-routes.ts'

/** How often the health is looked at for its history. */
const LOOK_MS = 5_000

/** What those who help need: a bundle without secrets, and the level of the log for a time. */
export const plugin: Plugin = {
  setup: async (context: Context): Promise<Instance> => {
    const scrub = scrubOf(context)
    const history = createHealthHistory(
      () => context.use(healthBoardRef),
      () => context.clock.nowMs(),
      scrub,
    )
    const parts: SupportParts = { context, history, scrub }
    return {
      routes: [bundleRoute(parts), ...levelRoutes(parts)],
      start: async () => context.every(LOOK_MS, async () => history.look(), 'each'),
    }
  },
}
