import {
  type Context,
  type Instance,
  nodeIdentityRef,
  type Plugin,
  pageRoutes,
  type Route,
  route,
} from '@steeple/contracts'
import { scrubOf, takeBundle } from './bundle/bundle.ts'
import type { Scrub } from './bundle/clean-text.ts'
import { createHealthHistory, type HealthHistory } from './health-history.ts'
import { levelRoutes } from './routes/level-routes.ts'

/** How often the health is looked at for its history. */
const LOOK_MS = 5_000

/** What those who help need: a bundle without secrets, and the level of the log for a time. */
export const plugin: Plugin = {
  setup: async (context: Context): Promise<Instance> => {
    const scrub = scrubOf(context)
    const history = createHealthHistory(context, scrub)
    return {
      routes: [
        bundleRoute(context, history, scrub),
        ...levelRoutes(context),
        ...pageRoutes(import.meta.url, '/support-files'),
      ],
      start: async () => context.every(LOOK_MS, async () => history.look(), 'each'),
    }
  },
}

/** `GET /v1/support/bundle` */
function bundleRoute(context: Context, history: HealthHistory, scrub: Scrub): Route {
  return route<unknown, unknown, unknown>({
    method: 'GET',
    path: '/v1/support/bundle',
    role: 'admin',
    summary: 'Get what support needs to know about this node, without secrets',
    description:
      'A .tar.gz with versions, the configuration, plugins, the history of the health, metrics, timings, the last lines of ' +
      'the log and the head of the audit trail. What may be somebody’s or secret is replaced: of the configuration a value ' +
      'appears only where its schema says that it is harmless. docs/how-to/support.md says what is in it.',
    produces: ['application/gzip'],
    errors: ['store_unavailable'],
    handle: async (request) => {
      const { nodeId } = context.use(nodeIdentityRef)
      await context.mutate(request.principal, 'support.bundle', nodeId, async () => undefined)
      const at = new Date(context.clock.nowMs()).toISOString().replaceAll(/[-:]|\.\d+/g, '')
      return {
        headers: {
          'content-type': 'application/gzip',
          'content-disposition': `attachment; filename="svc-support-${nodeId.slice(0, 8)}-${at}.tar.gz"`,
          'cache-control': 'no-store',
        },
        stream: takeBundle(context, history, scrub),
      }
    },
  })
}
