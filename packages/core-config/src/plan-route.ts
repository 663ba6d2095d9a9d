import { type Context, objectSchema, ok, type Route, route } from '@steeple/contracts'
import { planNow } from './plan.ts'
import { CORE_PLAN_SCHEMA, planRecord } from './plan-record.ts'

/** Settings that would be others: the plan is then that of the change. */
interface PlanQuery {
  readonly mcc?: string
  readonly mnc?: string
  readonly tac?: number
  readonly apns?: string
}

const QUERY = objectSchema({
  mcc: { type: 'string', pattern: '^[0-9]{3}$', description: 'As if `plmn.mcc` were this.' },
  mnc: { type: 'string', pattern: '^[0-9]{2,3}$', description: 'As if `plmn.mnc` were this.' },
  tac: { type: 'integer', minimum: 1, maximum: 16_777_215, description: 'As if `tac` were this.' },
  apns: {
    type: 'string',
    pattern: '^[A-Za-z0-9.-]+(,[A-Za-z0-9.-]+)*$',
    maxLength: 1_000,
    description: 'As if the policy had these APNs, with commas between them.',
  },
})

/** `GET /v1/core/plan`. */
export function planRoute(context: Context): Route {
  return route<unknown, PlanQuery, unknown>({
    method: 'GET',
    path: '/v1/core/plan',
    role: 'operator',
    summary: "What a change of the core's configuration would do now",
    description:
      'Compares the rendered files with those in the configuration directory: what differs, which daemons restart in ' +
      'which order and why, and how many subscribers lose their connection by it. With `mcc`, `mnc`, `tac` or `apns` it is ' +
      'what would happen if they were set so, before anybody sets them; whether they may be is said by the route that does. ' +
      'Changes nothing.',
    schema: { query: QUERY, response: CORE_PLAN_SCHEMA },
    handle: async ({ signal, query: { apns, ...rest } }) => {
      const change = apns === undefined ? rest : { ...rest, apns: apns.split(',') }
      return ok(planRecord(context.settings, await planNow(context, signal, change)))
    },
  })
}
