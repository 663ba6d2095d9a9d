import { nodeIdentityRef, type Route, route } from '@steeple/contracts'
import { takeBundle } from '../bundle/bundle.ts'
import type { SupportParts } from '../parts.ts'

/** `GET /v1/support/bundle` */
export function bundleRoute({ context, history, scrub }: SupportParts): Route {
  return route<unknown, unknown, unknown>({
    method: 'GET',
    path: '/v1/support/bundle',
    role: 'admin',
    summary: 'What those who help need to know of this node, without its secrets',
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
