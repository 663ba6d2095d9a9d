import {
  type Context,
  type CorePlan,
  type JsonSchema,
  objectSchema,
  ok,
  type Route,
  route,
  type Settings,
} from '@steeple/contracts'
import { planNow } from './plan.ts'

/** The answer of `GET /v1/core/plan`. */
function planRecord({ core, southbound }: Settings, plan: CorePlan): object {
  return {
    core,
    driver: southbound.driver,
    config_dir: plan.dir,
    state: plan.state,
    action: actionOf(plan),
    files: plan.files.map(({ path, change, daemon = null, diff }) => ({
      path,
      change,
      daemon,
      ...(diff === undefined ? {} : { diff }),
    })),
    daemons: plan.daemons.map(
      ({ name, container = null, action, drops, reason, dropped = null, expectedS }) => ({
        name,
        container,
        // A driver in plain JavaScript may leave it out: nothing restarts by it then.
        action: action === 'restart' ? action : 'none',
        drops,
        reason,
        subscribers_dropped: dropped,
        expected_s: expectedS,
      }),
    ),
    subscribers_dropped: plan.dropped ?? null,
    expected_s: plan.expectedS ?? null,
    held: plan.held ?? [],
    originals: plan.originals ?? [],
    notes: plan.notes,
    problems: plan.problems,
  }
}

/** What an apply would do to the daemons: a plan that compares nothing, or has no word of any file, does not tell. */
function actionOf({ state, files, daemons }: CorePlan): 'restart' | 'none' | 'unknown' {
  if (daemons.some(({ action }) => action === 'restart')) return 'restart'
  if (state === 'in_sync') return 'none'
  return state === 'changes' && files.length > 0 ? 'none' : 'unknown'
}

const text: JsonSchema = { type: 'string' }
const nullableText: JsonSchema = { type: ['string', 'null'] }

/** Schema of that answer. */
const CORE_PLAN_SCHEMA: JsonSchema = objectSchema(
  {
    core: { ...text, description: 'The core that the configuration names.' },
    driver: { type: 'string', enum: ['container', 'none'] },
    config_dir: text,
    state: {
      type: 'string',
      enum: ['in_sync', 'changes', 'unconfigured', 'unknown'],
      description: 'unconfigured: no place for the files is named; unknown: it cannot be compared.',
    },
    action: {
      type: 'string',
      enum: ['restart', 'none', 'unknown'],
      description: 'What it does to the daemons: none restarts where the core reads its files by itself.',
    },
    files: {
      type: 'array',
      items: objectSchema(
        {
          path: text,
          change: { type: 'string', enum: ['added', 'changed', 'removed', 'same'] },
          daemon: nullableText,
          diff: { ...text, description: 'Unified; passwords and keys are left out.' },
        },
        ['path', 'change', 'daemon'],
      ),
    },
    daemons: {
      type: 'array',
      description: 'Those that restart first, in that order.',
      items: objectSchema(
        {
          name: text,
          container: nullableText,
          action: { type: 'string', enum: ['restart', 'none'] },
          drops: { type: 'string', enum: ['lte', 'nr', 'all', 'none'] },
          reason: text,
          subscribers_dropped: {
            type: ['integer', 'null'],
            description: 'Phones that this restart cuts off; null when the core does not tell.',
          },
          expected_s: { type: 'integer' },
        },
        ['name', 'container', 'action', 'drops', 'reason', 'subscribers_dropped', 'expected_s'],
      ),
    },
    subscribers_dropped: {
      type: ['integer', 'null'],
      description: 'How many subscribers lose their connection; null when the core does not tell.',
    },
    expected_s: {
      type: ['integer', 'null'],
      description:
        'Until all daemons are back and the phones that were dropped have been told to come back; null when unknown.',
    },
    held: {
      type: 'array',
      items: text,
      description:
        'Files that the service did not write and would replace: nothing is applied before POST /v1/core/take-over names them.',
    },
    originals: {
      type: 'array',
      items: text,
      description:
        'Folders with copies of files that others had written, oldest first. Nothing removes them.',
    },
    notes: { type: 'array', items: text, description: 'What else it asks of the machine, such as memory.' },
    problems: { type: 'array', items: text },
  },
  [
    'core',
    'driver',
    'config_dir',
    'state',
    'action',
    'files',
    'daemons',
    'subscribers_dropped',
    'expected_s',
    'held',
    'originals',
    'notes',
    'problems',
  ],
)

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
    summary: "Show what a change of the core's configuration would do now",
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
