import { defineError, type ErrorFactory, forbidden, notFound, type Route, route } from '@steeple/contracts'
import type { EdgeCore } from '../edge-core.ts'
import type { RequestContext } from '../pipeline/request-context.ts'
import { createMetricsText } from './metrics-text.ts'
import { type NetworkScope, networkScope } from './network-scope.ts'

/** The same code as for a missing role: what is missing here is a place in the network. */
const outsideNetwork: ErrorFactory = defineError(
  forbidden.code,
  forbidden.status,
  'metrics are served to the networks of auth.metrics_allow alone, through a proxy when server.trusted_proxies names it',
)

const EXPOSITION = 'text/plain; version=0.0.4; charset=utf-8'

/** `GET /metrics`: kernel's, plugins' and the edge's own, for clients inside `auth.metrics_allow`. */
export function metricsRoute(core: EdgeCore): Route {
  const { kernel } = core
  const text = createMetricsText(core)
  let scope: NetworkScope = networkScope(kernel.settings.auth.metrics_allow)
  kernel.onSettings(() => {
    scope = networkScope(kernel.settings.auth.metrics_allow)
  })
  return route({
    method: 'GET',
    path: '/metrics',
    role: 'public',
    summary: 'Metrics in text exposition format',
    description: 'Only for addresses inside auth.metrics_allow. 404 when telemetry.metrics is off.',
    produces: ['text/plain'],
    errors: [forbidden.code, notFound.code],
    handle: async (request: RequestContext) => {
      if (!kernel.settings.telemetry.metrics) throw notFound('metrics page while telemetry.metrics is off')
      // The address of a proxy that is not trusted says nothing of who asks.
      const isHidden = request.proxy === undefined && request.header('x-forwarded-for') !== undefined
      if (isHidden || !scope.has(request.peerAddress)) throw outsideNetwork()
      return { body: await text(), headers: { 'Content-Type': EXPOSITION } }
    },
  })
}
