import {
  type Context,
  healthBoardRef,
  notReady,
  objectSchema,
  ok,
  type Route,
  route,
} from '@steeple/contracts'
import { allComponents, COMPONENT_SCHEMA, componentRecord, overallStatus } from './component-record.ts'
import type { NodeLifecycle } from './lifecycle.ts'
import type { RadioLook } from './radio-view.ts'
import { STATUS_SCHEMA, statusRecord } from './status-record.ts'

const HEALTH_SCHEMA = objectSchema(
  {
    status: { type: 'string', description: 'ok, degraded or down; more may come.' },
    components: { type: 'array', items: COMPONENT_SCHEMA },
  },
  ['status', 'components'],
)

/** `GET /v1/health` and `GET /v1/status`. */
export function serviceRoutes(context: Context, lifecycle: NodeLifecycle, look: RadioLook): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/health',
      role: 'viewer',
      summary: 'Health of every component, agents included',
      description:
        'down: something that the node needs is down; degraded: anything is not ok. The HTTP status is 200 either way.',
      schema: { response: HEALTH_SCHEMA },
      conditional: true,
      handle: async () => {
        const components = await allComponents(context)
        return ok({ status: overallStatus(components), components: components.map(componentRecord) })
      },
    }),
    route({
      method: 'GET',
      path: '/v1/status',
      role: 'viewer',
      summary: 'State of the node and its core; answers once the node is ready',
      description: 'The summary for people and scripts. GET /v1/health tells of each component.',
      schema: { response: STATUS_SCHEMA },
      errors: ['not_ready'],
      handle: async () => {
        if (!context.use(healthBoardRef).isReady) {
          throw notReady('the first reconcile pass is not over; try again in a moment', { retryAfterS: 1 })
        }
        return ok(await statusRecord(context, lifecycle, look))
      },
    }),
  ]
}
