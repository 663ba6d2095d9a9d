import type { Route } from '@steeple/contracts'
import type { EdgeCore } from '../edge-core.ts'
import type { Endpoint } from '../host/endpoint.ts'
import { docsRoutes } from './docs-routes.ts'
import { eventsRoute } from './events-route.ts'
import { metricsRoute } from './metrics-route.ts'
import { openapiRoute } from './openapi-route.ts'
import { pluginRoutes } from './plugin-routes.ts'
import { serviceRoutes } from './service-routes.ts'

/** The routes that the edge serves itself, whatever plugins are loaded. `live` gives what serves now. */
export function systemRoutes(core: EdgeCore, live: () => readonly Endpoint[]): readonly Route[] {
  return [
    ...serviceRoutes(core),
    metricsRoute(core),
    eventsRoute(core),
    ...pluginRoutes(core),
    openapiRoute(core, live),
    ...docsRoutes(),
  ]
}
