import { type Context, ok, type Route, route } from '@steeple/contracts'
import { planNow } from './plan.ts'
import { CORE_PLAN_SCHEMA, planRecord } from './plan-record.ts'

/** `GET /v1/core/plan`. */
export function planRoute(context: Context): Route {
  return route({
    method: 'GET',
    path: '/v1/core/plan',
    role: 'operator',
    summary: "What a change of the core's configuration would do now",
    description:
      'Compares the rendered files with those in the configuration directory: what differs, which daemons restart in ' +
      'which order and why, and how many subscribers lose their connection by it. Changes nothing.',
    schema: { response: CORE_PLAN_SCHEMA },
    handle: async ({ signal }) => ok(planRecord(context.settings, await planNow(context, signal))),
  })
}
