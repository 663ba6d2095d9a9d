import {
  type Context,
  type CoreDriver,
  type CorePlan,
  type CoreRestored,
  type CoreRestorePlan,
  coreDriverRef,
  healthBoardRef,
  type JsonSchema,
  nodeStateConflict,
  objectSchema,
  ok,
  type Route,
  recordSchema,
  route,
  type Settings,
  southboundUnavailable,
} from '@steeple/contracts'
import { pause } from '@steeple/southbound'
import type { ChangeRecord } from './core-changes.ts'
import { forgetOverlays } from './kept-overlays.ts'
import { coreDesired, noDriverWords, planNow } from './plan.ts'

interface TakeOverBody {
  readonly files: readonly string[]
}

interface RestoreBody {
  readonly copy?: string
  readonly dry_run?: boolean
}

const PATHS: JsonSchema = { type: 'array', items: { type: 'string' } }
const DROPPED: JsonSchema = {
  type: ['integer', 'null'],
  description: 'Phones that the restarts cut off; null when the core does not tell.',
}
const COPY = '20261128T084506994Z-7a57fc5f'

/** `POST /v1/core/take-over`, `POST /v1/core/restore-original` and `POST /v1/core/restart`; `wake` has the core looked at. */
export function takeOverRoutes(context: Context, wake: () => void, work: ChangeRecord): readonly Route[] {
  return [takeOverRoute(context, wake), restoreRoute(context, wake, work), restartRoute(context)]
}

function takeOverRoute(context: Context, wake: () => void): Route {
  return route<unknown, unknown, TakeOverBody>({
    method: 'POST',
    path: '/v1/core/take-over',
    role: 'admin',
    example: { files: ['amf.yaml', 'mme.yaml'] },
    summary: 'Agree that the service replaces files of the core that it did not write',
    description:
      'Before this, nothing is applied over files of others. Name exactly the files in `held` of the plan. A copy of ' +
      'them is kept for good. If the core has a problem with the new files, they are rolled back.',
    schema: {
      body: recordSchema({ files: { ...PATHS, maxItems: 1_000 } }),
      response: recordSchema({ files: PATHS, copy: { type: 'string', description: 'Folder of the copy.' } }),
    },
    errors: ['validation_failed', 'southbound_unavailable'],
    audit: 'core.take_over',
    handle: async (request) => {
      const { files } = request.body
      const driver = driverOf(context)
      if (driver.takeOver === undefined)
        throw southboundUnavailable('this core driver cannot replace files that others wrote; move them away')
      const set = await driver.render(coreDesired(context))
      const copy = await driver.takeOver(set, files, request.signal)
      await request.mutate('core', async (tx) => {
        tx.audit({ detail: { core: context.settings.core, files, copy } })
        return { status: 204 }
      })
      wake()
      return ok({ files, copy })
    },
  })
}

/** A core that was restarted is looked at anew within that, ms; its phones are called back soon after. */
const FIRST_LOOK_MS = 10_000
const LOOK_MS = 1_000
const MOST_MS = 45_000

/** What each daemon takes to restart, and the core after the last one until it is seen well, s. */
const EACH_S = 3
const AFTER_S = 15

/** Waits until the core is well again, though not for ever. */
async function coreIsWell(context: Context, signal: AbortSignal): Promise<void> {
  const board = context.maybe(healthBoardRef)
  if (board === undefined) return
  const { monotonicMs } = context.clock
  const end = monotonicMs() + MOST_MS
  await pause(FIRST_LOOK_MS, signal)
  const isIll = (): boolean =>
    board.components().some(({ kind, status }) => kind === 'core' && status !== 'ok')
  while (isIll() && monotonicMs() < end) await pause(LOOK_MS, signal)
}

function restoreRoute(context: Context, wake: () => void, work: ChangeRecord): Route {
  return route<unknown, unknown, RestoreBody>({
    method: 'POST',
    path: '/v1/core/restore-original',
    role: 'admin',
    example: { copy: COPY },
    summary: 'Restore files of the core from before the service replaced them',
    description:
      'Restores the copy of that name, or the oldest (`originals` of the plan). Files that only the service wrote are ' +
      'removed, and the daemons restart; the answer waits until the core is well, for a minute at most. Edits by hand are copied first, and overlays go. Nothing is applied again before `POST /v1/core/take-over`. With ' +
      '`southbound.driver: none` no daemon is restarted.',
    schema: {
      body: objectSchema({
        copy: { type: 'string', maxLength: 64 },
        dry_run: { type: 'boolean', description: 'Changes nothing: the answer says what would be done.' },
      }),
      response: recordSchema({
        copy: { type: 'string' },
        changed: PATHS,
        restarted: PATHS,
        subscribers_dropped: DROPPED,
        problem: {
          type: ['string', 'null'],
          description: 'Why daemons have not restarted or are not well; null when all are.',
        },
        edits: {
          ...PATHS,
          description: 'Files and overlays that somebody has edited by hand: that is undone.',
        },
        kept: {
          type: ['string', 'null'],
          description: 'Folder of the copy of these; in a dry run, where it will lie. null without edits.',
        },
        left: {
          ...PATHS,
          description: 'Files among the overlays that this service did not make: they stay.',
        },
      }),
    },
    errors: ['validation_failed', 'not_found', 'southbound_unavailable'],
    audit: 'core.restore_original',
    handle: async (request) => {
      const driver = driverOf(context)
      if (driver.restoreOriginal === undefined)
        throw southboundUnavailable('this core driver keeps no copies of files; put them back by hand')
      const set = await driver.render(coreDesired(context))
      const { copy: named, dry_run: isDry } = request.body
      const planned = await driver.planRestore?.(set, named, request.signal)
      if (isDry === true) {
        if (planned === undefined)
          throw southboundUnavailable('this core driver does not tell before what putting files back does')
        const { restarts, dropped = null } = planned
        const cost = { restarted: restarts, subscribers_dropped: dropped, problem: null }
        return ok({ ...backRecord(planned), ...cost })
      }
      const { changed: files = [], restarts: daemons = [] } = planned ?? {}
      work.begin({ files, daemons }, daemons.length * EACH_S + AFTER_S)
      const done = await driver.restoreOriginal(set, named, request.signal).catch((error: unknown) => {
        work.fail()
        throw error
      })
      const { restarted, problem = null } = done
      if (problem !== null) work.fail()
      const back = { ...backRecord(done), restarted, problem }
      await request.mutate('core', async (tx) => {
        await forgetOverlays(tx, context.settings.core)
        tx.audit({ detail: { core: context.settings.core, ...back } })
        return { status: 204 }
      })
      try {
        // Whoever releases the core ends its care right after this: its phones are to have their sessions again before.
        if (restarted.length > 0) await coreIsWell(context, request.signal)
      } finally {
        // Not before: that files of others are in the way is no fault while they are being put back.
        wake()
      }
      return ok({ ...back, subscribers_dropped: planned?.dropped ?? null })
    },
  })
}

/** What comes back, and what becomes of what people have written since. */
function backRecord({ copy, changed, edits = [], kept, left = [] }: CoreRestored | CoreRestorePlan) {
  return { copy, changed, edits, kept: kept ?? null, left }
}

function restartRoute(context: Context): Route {
  return route<unknown, unknown, { readonly dry_run?: boolean }>({
    method: 'POST',
    path: '/v1/core/restart',
    role: 'admin',
    summary: 'Restart the daemons of the core that are down',
    description:
      'Only where the service manages them (`southbound.driver` is not `none`, and it has applied a configuration). Those that ' +
      'work go on, but for the ones that follow a restarted one: `restarted` has them too.',
    schema: {
      body: objectSchema({
        dry_run: { type: 'boolean', description: 'Restarts nothing: the answer says what would be.' },
      }),
      response: recordSchema({
        restarted: PATHS,
        subscribers_dropped: DROPPED,
      }),
    },
    errors: ['southbound_unavailable', 'node_state_conflict'],
    audit: 'core.restart_down',
    handle: async (request) => {
      const driver = driverOf(context)
      const planned = await driver.planRestartDown?.(request.signal)
      const isDry = request.body.dry_run === true
      if (isDry && planned === undefined)
        throw southboundUnavailable('this core driver does not tell before what it restarts')
      const restarted = isDry ? planned?.restarts : await driver.restartDown?.(request.signal)
      if (restarted === undefined || restarted.length === 0)
        throw nodeStateConflict(
          'no daemon is down that this service may restart; start the core on its machine',
        )
      const answer = { restarted, subscribers_dropped: planned?.dropped ?? null }
      if (isDry) return ok(answer)
      await request.mutate('core', async (tx) => {
        tx.audit({ detail: { core: context.settings.core, daemons: [...restarted] } })
        return { status: 204 }
      })
      return ok(answer)
    },
  })
}

/** Throws `southbound_unavailable` where there is none. */
export function driverOf(context: Context): CoreDriver {
  const driver = context.maybe(coreDriverRef)
  if (driver === undefined) throw southboundUnavailable(noDriverWords(context.settings.core))
  return driver
}

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
    overlays: plan.overlays ?? [],
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
const CORE_PLAN_SCHEMA: JsonSchema = recordSchema({
  core: { ...text, description: 'The core that the configuration names.' },
  driver: { type: 'string', enum: ['container', 'systemd', 'none'] },
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
    items: recordSchema({
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
    }),
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
      'Files that the service did not write and would replace: nothing is applied before POST /v1/core/adopt or POST /v1/core/take-over.',
  },
  originals: {
    type: 'array',
    items: text,
    description: 'Folders with copies of files that others had written, oldest first. Nothing removes them.',
  },
  overlays: {
    type: 'array',
    items: recordSchema({ path: text, keys: PATHS }),
    description: 'Files with lines of the operator’s own, which stay: their keys.',
  },
  notes: { type: 'array', items: text, description: 'What else it asks of the machine, such as memory.' },
  problems: { type: 'array', items: text },
})

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
