import {
  type Context,
  type CoreLine,
  type CorePlan,
  coreDriverRef,
  hssDriverRef,
  type JsonSchema,
  objectSchema,
  ok,
  peeringRef,
  type Route,
  recordSchema,
  route,
  sectionOf,
  southboundUnavailable,
  subscribersRef,
} from '@steeple/contracts'
import { type LookPlaces, withKeys } from '@steeple/southbound'
import { restartsIn } from './core-changes.ts'
import { driverOf } from './core-routes.ts'
import { type FoundOnMachine, foundNow, HSS_DRIVER } from './found.ts'
import { coreDesired } from './plan.ts'

const TEXT: JsonSchema = { type: 'string' }
const NULLABLE: JsonSchema = { type: ['string', 'null'] }
const COUNT: JsonSchema = { type: ['integer', 'null'] }
const TEXTS: JsonSchema = { type: 'array', items: TEXT }
const CORE: JsonSchema = { type: ['string', 'null'], enum: ['core_a', 'core_b', null] }

const COST: JsonSchema = recordSchema({
  restarts: { ...TEXTS, description: 'Daemons that restart, in that order.' },
  subscribers_dropped: {
    ...COUNT,
    description: 'Phones that are cut off; null when the core does not tell.',
  },
  expected_s: COUNT,
})

const DIFFERENCE: JsonSchema = recordSchema({
  key: { ...TEXT, description: '`mme.tai.0.tac`.' },
  found: { ...NULLABLE, description: 'As the file has it; null where it has none.' },
  written: { ...TEXT, description: 'As the service writes it.' },
})

const FOUND: JsonSchema = recordSchema({
  core: { ...CORE, description: 'null: no daemon of a core was found.' },
  daemons: {
    type: 'array',
    items: recordSchema({
      core: CORE,
      role: TEXT,
      kind: { type: 'string', enum: ['unit', 'container', 'process'], description: 'What runs it.' },
      name: { ...TEXT, description: 'Of the unit or the container; of a bare process its number.' },
      running: { type: 'boolean' },
      config_file: { ...NULLABLE, description: 'As the daemon sees it.' },
      version: NULLABLE,
    }),
  },
  network: {
    type: ['object', 'null'],
    description: 'What the files say, whoever wrote them.',
    properties: {
      plmn: { ...NULLABLE, description: '`999-70`.' },
      tacs: TEXTS,
      pools: { type: 'array', items: recordSchema({ apn: NULLABLE, subnet: TEXT }) },
      slices: { type: 'array', items: objectSchema({ sst: { type: 'integer' }, sd: TEXT }, ['sst']) },
      dns: TEXTS,
      addresses: { type: 'object', additionalProperties: TEXT },
    },
    required: ['plmn', 'tacs', 'pools', 'slices', 'dns', 'addresses'],
  },
  settings: {
    type: 'object',
    additionalProperties: { description: 'Any JSON that the key takes.' },
    description:
      'Keys of the configuration that have to be these for the service to say the same. Empty: they are.',
  },
  apns: {
    type: ['array', 'null'],
    items: TEXT,
    description:
      'What `apns` of the policy has to be, see `PUT /v1/policy`. null: as it is, or the files name none.',
  },
  drive: {
    type: ['object', 'null'],
    additionalProperties: { description: 'Any JSON that the key takes.' },
    description:
      'Keys that have to be these beside `settings` for the service to drive it. null: nobody can restart its daemons.',
  },
  apns_gone: { ...TEXTS, description: 'Of the APNs of the policy, those that go with `apns`.' },
  subscribers_pending: {
    ...COUNT,
    description: 'SIMs that are written into the core once the service drives it. null: not known.',
  },
  lines: { ...TEXT, description: 'YAML of `settings`, for the configuration file.' },
  files: {
    type: 'array',
    items: recordSchema({
      path: TEXT,
      daemon: NULLABLE,
      differences: {
        type: 'array',
        items: DIFFERENCE,
        description: 'Keys that the service would write otherwise.',
      },
      kept: { ...TEXTS, description: 'Keys that the service does not write.' },
      subscribers_dropped: {
        ...COUNT,
        description: 'Phones that its restart cuts off, were one of them written.',
      },
    }),
  },
  base_stations: {
    ...COUNT,
    description:
      'Those that are connected now: what they are set to must stay. null: the core does not tell.',
  },
  adopted: {
    ...nullable(COST),
    description: 'What happens once these files are taken in: their lines stay.',
  },
  replaced: {
    ...nullable(COST),
    description: 'What happens if the service writes all of its own lines instead.',
  },
  notes: TEXTS,
  problems: TEXTS,
  unseen: { ...TEXTS, description: 'What could not be looked at, and which right is missing.' },
})

function nullable(schema: JsonSchema): JsonSchema {
  return { ...schema, type: ['object', 'null'] }
}

/** `GET /v1/core/found` and `POST /v1/core/adopt`; `wake` has the core looked at. */
export function adoptRoutes(
  context: Context,
  wake: () => void,
  places: Partial<LookPlaces> = {},
): readonly Route[] {
  return [foundRoute(context, places), adoptRoute(context, wake)]
}

function foundRoute(context: Context, places: Partial<LookPlaces>): Route {
  return route({
    method: 'GET',
    path: '/v1/core/found',
    role: 'operator',
    summary: 'Find a core that already runs on this machine, and read its files',
    description:
      'Looks at processes, units of systemd and containers, and reads the files of their daemons as they are: network, pools, ' +
      'slices, addresses. Says which settings make the service say the same, and which lines it would write otherwise. ' +
      'Starts, stops and writes nothing, whatever is configured.',
    schema: { response: FOUND },
    handle: async ({ signal }) => {
      const [found, problems, stations] = await Promise.all([
        foundNow(context, signal, places),
        subscriberProblems(context, signal),
        stationsNow(context, signal),
      ])
      // Of a core that is not there nothing comes along.
      const notes = found.reading === undefined ? [] : wayOutNotes(context)
      const pending = (await pendingSims(context, found)) ?? null
      const record = foundRecord(found, [...problems, ...notes])
      return ok({ ...record, base_stations: stations, subscribers_pending: pending })
    },
  })
}

/** How long the HSS may take to look through its subscribers, and the core to list its base stations, ms. */
const SURVEY_MS = 3_000

/** What the core does not bear of its subscribers; nothing while the HSS does not tell. */
async function subscriberProblems(context: Context, signal: AbortSignal): Promise<readonly string[]> {
  const bound = AbortSignal.any([signal, AbortSignal.timeout(SURVEY_MS)])
  const survey = await context
    .maybe(hssDriverRef)
    ?.survey?.(bound)
    .catch(() => undefined)
  signal.throwIfAborted()
  return survey?.problems ?? []
}

/** How many base stations the core has now; null while it does not tell. */
async function stationsNow(context: Context, signal: AbortSignal): Promise<number | null> {
  const driver = context.maybe(coreDriverRef)
  const bound = AbortSignal.any([signal, AbortSignal.timeout(SURVEY_MS)])
  const counts = await Promise.all(
    (['lte', 'nr'] as const).map(async (technology) => {
      const stations = await driver?.stations?.(technology, bound).catch(() => undefined)
      return stations?.length ?? []
    }),
  )
  signal.throwIfAborted()
  const known = counts.flat()
  return known.length === 0 ? null : known.reduce((sum, count) => sum + count, 0)
}

/** How many SIMs the core gets with the driver of the HSS that it would have then. A store that cannot be read tells none. */
async function pendingSims(
  { settings, maybe }: Context,
  { drive = {}, settings: found }: FoundOnMachine,
): Promise<number | undefined> {
  const driver = drive[HSS_DRIVER] ?? found[HSS_DRIVER] ?? sectionOf(settings, 'hss').driver
  if (typeof driver !== 'string' || driver === 'none') return undefined
  return await maybe(subscribersRef)
    ?.backlog?.(driver)
    .catch(() => undefined)
}

/** What comes with a core that is driven: whoever has set up the machine is told before. */
function wayOutNotes(context: Context): readonly string[] {
  if (context.settings.southbound.driver !== 'none' || context.maybe(peeringRef) === undefined) return []
  return [
    'once the service drives the core, it also lets its phones out: it turns on net.ipv4.ip_forward, and has a table of ' +
      'nftables of its own. Both end when it drives the core no more',
  ]
}

function foundRecord(found: FoundOnMachine, otherNotes: readonly string[]): object {
  const { daemons, reading, settings, comparison, problems, unseen } = found
  const network = reading?.network
  const dropped = new Map(comparison?.replaced.daemons.map((daemon) => [daemon.name, daemon.dropped]))
  return {
    core: reading?.core ?? null,
    daemons: daemons.map(({ core, role, runner, isRunning, configFile = null, version = null }) => ({
      core,
      role,
      ...runner,
      running: isRunning,
      config_file: configFile,
      version,
    })),
    network:
      network === undefined
        ? null
        : {
            plmn: network.plmn === undefined ? null : `${network.plmn.mcc}-${network.plmn.mnc}`,
            tacs: network.tacs,
            pools: network.pools.map(({ apn = null, subnet }) => ({ apn, subnet })),
            slices: network.slices,
            dns: network.dns,
            addresses: network.addresses,
          },
    settings,
    drive: found.drive ?? null,
    apns: found.apns ?? null,
    apns_gone: found.apnsGone,
    lines: Object.keys(settings).length === 0 ? '' : withKeys('', settings),
    files: (comparison?.files ?? []).map(({ path, daemon = null, differences, kept }) => ({
      path,
      daemon,
      differences: differences.map(({ key, found: value = null, written }) => ({
        key,
        found: value,
        written,
      })),
      kept,
      subscribers_dropped: dropped.get(daemon ?? '') ?? null,
    })),
    adopted: costOf(comparison?.adopted),
    replaced: costOf(comparison?.replaced),
    notes: [...(network?.notes ?? []), ...(comparison?.adopted.notes ?? []), ...otherNotes],
    problems: [...problems, ...(comparison?.adopted.problems ?? [])],
    unseen,
  }
}

function costOf(plan: CorePlan | undefined): object | null {
  if (plan === undefined) return null
  return {
    restarts: restartsIn(plan),
    subscribers_dropped: plan.dropped ?? null,
    expected_s: plan.expectedS ?? null,
  }
}

function adoptRoute(context: Context, wake: () => void): Route {
  return route<unknown, unknown, { readonly ours?: readonly CoreLine[] }>({
    method: 'POST',
    path: '/v1/core/adopt',
    role: 'admin',
    example: { ours: [{ path: 'hss.yaml', key: 'hss.use_mongodb_change_stream' }] },
    summary: 'Take in the files of a core that already runs: their lines stay',
    description:
      'The files in the configuration directory become overlays of the operator’s own: all of their lines stay but those named in ' +
      '`ours`, which become as `GET /v1/core/found` says. Later a change of a setting changes its own lines alone. A copy is kept ' +
      'for good. Nothing restarts for a file that stays as it is.',
    schema: {
      body: objectSchema({
        ours: {
          type: 'array',
          maxItems: 1_000,
          items: recordSchema({ path: TEXT, key: TEXT }),
          description: 'Lines that the service writes instead.',
        },
      }),
      response: recordSchema({ copy: { ...TEXT, description: 'Folder of the copy.' } }),
    },
    errors: ['validation_failed', 'southbound_unavailable'],
    audit: 'core.adopt',
    handle: async (request) => {
      const { ours = [] } = request.body
      const driver = driverOf(context)
      if (driver.adopt === undefined)
        throw southboundUnavailable('this core driver takes in no files that others wrote; move them away')
      const copy = await driver.adopt(coreDesired(context), ours, request.signal)
      await request.mutate('core', async (tx) => {
        tx.audit({ detail: { core: context.settings.core, ours, copy } })
        return { status: 204 }
      })
      wake()
      return ok({ copy })
    },
  })
}
