import type { PathGroup, Route } from '@steeple/contracts'
import type { EdgeCore } from '../edge-core.ts'
import type { Endpoint } from '../host/endpoint.ts'
import { docsRoutes } from './docs-routes.ts'
import { eventsRoute } from './events-route.ts'
import { metricsRoute } from './metrics-route.ts'
import { openapiRoute } from './openapi-route.ts'
import { pluginRoutes } from './plugin-routes.ts'
import { secretRoutes } from './secret-routes.ts'
import { serviceRoutes } from './service-routes.ts'
import { settingsRoutes } from './settings-route.ts'
import { siteRoutes } from './site-routes.ts'

const SEE: PathGroup = { group: 'See how it is going' }

/** How the documentation shows the edge's own routes. */
export const SYSTEM_PATHS: Readonly<Record<string, PathGroup>> = {
  '/v1/healthz': { ...SEE, about: 'Is the network up, what is wrong with it, what runs here.', rank: 100 },
  '/v1/version': SEE,
  '/v1/events': {
    group: 'Follow and prove',
    about: 'Events as they happen, alerts, metrics, and who did what.',
    rank: 700,
  },
  '/metrics': { group: 'Follow and prove' },
  '/v1/plugins': { group: 'Upkeep', about: 'Backups, plugins, logs and help for support.', rank: 750 },
  '/v1/settings': { group: 'Upkeep' },
  '/v1/openapi.json': { group: 'This API', about: 'The documents about it.', rank: 800 },
  '/v1/docs': { group: 'This API' },
  '/docs': { group: 'This API' },
}

/**
 * The routes that the edge serves itself, whatever plugins are loaded. `live` gives what serves now, `documentation` is the folder of
 * the pages that this build carries.
 */
export function systemRoutes(
  core: EdgeCore,
  live: () => readonly Endpoint[],
  documentation: string | undefined,
): readonly Route[] {
  return [
    ...serviceRoutes(core),
    metricsRoute(core),
    eventsRoute(core),
    ...pluginRoutes(core),
    ...secretRoutes(core),
    ...settingsRoutes(core),
    openapiRoute(core, live),
    ...docsRoutes(),
    ...siteRoutes(documentation),
  ]
}
