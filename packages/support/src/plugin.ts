import {
  type Context,
  healthBoardRef,
  type Instance,
  introspectionRef,
  type Plugin,
} from '@steeple/contracts'
import { createHealthHistory } from './health-history.ts'
import type { SupportParts } from './parts.ts'
import { bundleRoute } from './routes/bundle-route.ts'
import { levelRoutes } from './routes/level-routes.ts'

/** How often the health is looked at for its history. */
const LOOK_MS = 5_000

/** What those who help need: a bundle without secrets, and the level of the log for a time. */
export const plugin: Plugin = {
  setup: async (context: Context): Promise<Instance> => {
    const history = createHealthHistory(
      () => context.use(healthBoardRef),
      () => context.clock.nowMs(),
      (text) => context.use(introspectionRef).scrub(text),
    )
    const parts: SupportParts = { context, history }
    return {
      routes: [bundleRoute(parts), ...levelRoutes(parts)],
      start: async () => context.every(LOOK_MS, async () => history.look(), 'each'),
    }
  },
}
