import { ok, type Route, route } from '@steeple/contracts'
import { CORE_PLAN_SCHEMA, type CorePlan } from './plan-record.ts'

/** `GET /v1/core/plan`. */
export function planRoute(plan: (signal: AbortSignal) => Promise<CorePlan>): Route {
  return route({
    method: 'GET',
    path: '/v1/core/plan',
    role: 'operator',
    summary: "What a change of the core's configuration would do now",
    description:
      'Compares the rendered files with those in the configuration directory: what differs, which daemons restart in ' +
      'which order and why, and how many subscribers lose their connection by it. Changes nothing.',
    schema: { response: CORE_PLAN_SCHEMA },
    handle: async (request) => ok(await plan(request.signal)),
  })
}
