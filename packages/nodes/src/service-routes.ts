import {
  type ComponentState,
  type Context,
  healthBoardRef,
  type Incident,
  type InstanceView,
  type JsonSchema,
  NULLABLE_TIMESTAMP_SCHEMA,
  nodeIdentityRef,
  notReady,
  ok,
  type Peering,
  peeringRef,
  policyRef,
  type Route,
  recordSchema,
  route,
  type SubscriberView,
  serviceInfoRef,
  subscribersRef,
  TIMESTAMP_SCHEMA,
  timestampFromMs,
  timestampOrNull,
  txGateRef,
} from '@steeple/contracts'
import { formatPlmn } from '@steeple/telecom'
import { agentStates } from './agent-components.ts'
import { degradedReason } from './degraded.ts'
import { INCIDENT_SCHEMA, type IncidentLook, incidentRecords } from './incidents.ts'
import type { InternetWatch } from './internet.ts'
import { type NodeLifecycle, statusOf } from './lifecycle.ts'
import { listHeartbeats, nodeNames } from './node-store.ts'
import type { RadioLook } from './report.ts'

/** At most so many agents are shown, those first that have been silent for longest: the answer stays bounded in a large mesh. */
const MAX_AGENTS = 1_000

const TEXT: JsonSchema = { type: 'string' }
const FLAG: JsonSchema = { type: 'boolean' }
const COUNT: JsonSchema = { type: 'integer', minimum: 0 }

/** `node/<id>`: the heartbeat of another box; `node/<id>/<name>`: a part of it. */
const BOX = /^node\/([^/]+)(\/|$)/
/** Parts of other boxes that answers show: a mesh of a thousand may lose its root's line at once. */
const MOST_SHOWN = 20

/** The sum of the other boxes as answers show it. */
const BOXES_SCHEMA: JsonSchema = {
  ...recordSchema({
    total: { ...COUNT, description: 'Other boxes that have sent a heartbeat here.' },
    well: COUNT,
    not_well: {
      ...COUNT,
      description: 'Those that answer, with a part that is not ok or a clock that is off.',
    },
    silent: { ...COUNT, description: 'Those without a heartbeat for three of its intervals.' },
  }),
  description: 'The other boxes of the mesh, summed up. GET /v1/nodes has each.',
}

/** How many boxes beside this one are well, and how many are not. */
export function boxSum(components: readonly ComponentState[], ownId: string): object {
  const worst = new Map<string, 'well' | 'not_well' | 'silent'>()
  for (const { name, status } of components) {
    const [, id, rest] = BOX.exec(name) ?? []
    if (id === undefined || id === ownId) continue
    if (rest === '' && status === 'down') worst.set(id, 'silent')
    else if (status !== 'ok' && worst.get(id) !== 'silent') worst.set(id, 'not_well')
    else if (!worst.has(id)) worst.set(id, 'well')
  }
  const count = (what: string): number => [...worst.values()].filter((one) => one === what).length
  return {
    total: worst.size,
    well: count('well'),
    not_well: count('not_well'),
    silent: count('silent'),
  }
}

/** What answers list: everything of this box, and of others what is not well, what is down and oldest first. */
export function shownComponents(components: readonly ComponentState[]): readonly ComponentState[] {
  const own = components.filter(({ name }) => !BOX.test(name))
  const others = components
    .filter(({ name, status }) => BOX.test(name) && status !== 'ok')
    .toSorted(
      (one, other) =>
        Number(other.status === 'down') - Number(one.status === 'down') || one.sinceMs - other.sinceMs,
    )
  return [...own, ...others.slice(0, MOST_SHOWN)]
}

/** One component as `GET /v1/health` and `GET /v1/status` show it. */
const COMPONENT_SCHEMA: JsonSchema = recordSchema({
  name: { type: 'string' },
  kind: {
    type: 'string',
    description: 'core, hss, ran, collector, store, feature or peer; more may come.',
  },
  status: { type: 'string', description: 'ok, degraded or down; more may come.' },
  detail: { type: 'string' },
  since: { ...TIMESTAMP_SCHEMA, description: 'Since when the status is what it is.' },
  last_ok_at: NULLABLE_TIMESTAMP_SCHEMA,
})

/** Everything that is watched, as it is now: the service and its plugins, then the agents that send heartbeats. */
export async function allComponents(context: Context): Promise<readonly ComponentState[]> {
  return withAgents(context, await context.use(healthBoardRef).fresh())
}

/** The components of this service, with those of the agents behind them. */
export async function withAgents(
  context: Context,
  own: readonly ComponentState[],
): Promise<readonly ComponentState[]> {
  const nowMs = context.clock.nowMs()
  const [heartbeats, names] = await Promise.all([
    listHeartbeats(context.db, MAX_AGENTS),
    nodeNames(context.db),
  ])
  return [
    ...own,
    ...heartbeats.flatMap((heartbeat) => agentStates(heartbeat, nowMs, names.get(heartbeat.node_id) ?? '')),
  ]
}

/** `down` when something required is down, `degraded` when anything is not ok, `ok` otherwise. */
export function overallStatus(components: readonly ComponentState[]): 'ok' | 'degraded' | 'down' {
  if (components.some(({ required, status }) => required && status === 'down')) return 'down'
  return components.every(({ status }) => status === 'ok') ? 'ok' : 'degraded'
}

/** A component as answers show it. */
function componentRecord(component: ComponentState): object {
  const { name, kind, status, detail, sinceMs, lastOkAtMs } = component
  return {
    name,
    kind,
    status,
    detail,
    since: timestampFromMs(sinceMs),
    last_ok_at: timestampOrNull(lastOkAtMs ?? null),
  }
}

/** The body of `GET /v1/status`: the specification's fields and the additive ones of contract section 3. */
const STATUS_SCHEMA: JsonSchema = recordSchema({
  state: { ...TEXT, description: 'bootstrap, registered, on-air, peered or degraded; more may come.' },
  plmn: { ...TEXT, description: 'MCC-MNC.' },
  tac: COUNT,
  apns: { type: 'array', items: TEXT },
  enb: recordSchema({
    connected: FLAG,
    mode: { ...TEXT, description: 'lte, nr, none, or unknown; more may come.' },
    s1_setup: FLAG,
    known: {
      ...FLAG,
      description:
        'False while neither the core nor an own radio tells; connected and s1_setup are false then.',
    },
    other_networks: {
      type: 'array',
      items: TEXT,
      description: 'MCC-MNC that connected base stations announce, where none announces that of this box.',
    },
  }),
  ue: recordSchema({
    registered: { ...FLAG, description: 'Whether at least one phone is seen to be.' },
    sim_state: { ...TEXT, description: 'activated, suspended or none: the most recent phone.' },
    attached: {
      type: ['integer', 'null'],
      minimum: 0,
      description: 'Null while the core does not tell.',
    },
    known: { ...FLAG, description: 'False while the core does not tell; registered is false then.' },
  }),
  foreign_subscribers: {
    type: ['integer', 'null'],
    minimum: 0,
    description:
      'Subscribers of the core that are of no SIM here (GET /v1/sims/foreign); null while that is not known.',
  },
  internet: {
    type: ['boolean', 'null'],
    description: 'Whether phones get out, as of the last look; null while that is not known.',
  },
  breakout: recordSchema({
    mode: { ...TEXT, description: 'local, peer or off, as observed.' },
    peer_count: COUNT,
  }),
  mode: { ...TEXT, description: 'lab or rf.' },
  core: TEXT,
  country: TEXT,
  node_id: TEXT,
  version: TEXT,
  uptime_s: COUNT,
  tx: recordSchema({ armed: FLAG }),
  instance: recordSchema({
    name: { ...TEXT, description: 'As cluster.instance names it; empty where there is one.' },
    role: { ...TEXT, description: 'alone, leader or follower.' },
    leader: { type: ['string', 'null'], description: 'Null while nobody leads.' },
    epoch: { ...COUNT, description: 'Grows with each leader.' },
  }),
  incidents: { type: 'array', items: INCIDENT_SCHEMA },
  boxes: BOXES_SCHEMA,
  components: { type: 'array', items: COMPONENT_SCHEMA },
})

/** The status of this node as it is now. */
async function statusRecord(
  context: Context,
  lifecycle: NodeLifecycle,
  look: RadioLook,
  incidentsIn: IncidentLook,
  internet: InternetWatch,
): Promise<object> {
  const { nodeId } = context.use(nodeIdentityRef)
  const watched = allComponents(context)
  const [state, reason, components, incidents, radio, gate, standing, last] = await Promise.all([
    lifecycle.state(),
    degradedReason(context, nodeId),
    watched,
    watched.then(incidentsIn),
    look(),
    context.maybe(txGateRef)?.state(),
    context.maybe(peeringRef)?.state(),
    // A damaged row of a SIM is no reason to say nothing of the node.
    context
      .maybe(subscribersRef)
      ?.lastAttached()
      .catch(() => undefined),
  ])
  const { settings } = context
  return {
    state: statusOf(state, reason !== undefined),
    plmn: formatPlmn(settings.plmn),
    tac: settings.tac,
    apns: apnsOf(context),
    enb: {
      connected: radio.isConnected ?? false,
      mode: radio.mode ?? 'unknown',
      s1_setup: radio.isConnected ?? false,
      known: radio.isConnected !== null,
      other_networks: radio.otherNetworks,
    },
    ue: {
      registered: (radio.attachedUes ?? 0) > 0,
      sim_state: simState(last, radio.attachedUes ?? 0),
      attached: radio.attachedUes,
      known: radio.attachedUes !== null,
    },
    foreign_subscribers: context.maybe(subscribersRef)?.foreign?.() ?? null,
    internet: internet.isThere() ?? null,
    breakout: breakoutRecord(standing),
    mode: settings.server.mode,
    core: settings.core,
    country: settings.server.country,
    node_id: nodeId,
    ...runningSince(context),
    tx: { armed: gate?.armed ?? false },
    instance: instanceRecord(context.use(serviceInfoRef).instance()),
    ...partsRecord(components, incidents, nodeId),
  }
}

/** What is watched, as answers show it: many boxes are summed up. */
function partsRecord(
  components: readonly ComponentState[],
  incidents: readonly Incident[],
  ownId: string,
): object {
  return {
    incidents: incidentRecords(incidents),
    boxes: boxSum(components, ownId),
    components: shownComponents(components).map(componentRecord),
  }
}

/** Those of the policy, which the core is set to; the configured ones while no policy can be read. */
function apnsOf(context: Context): readonly string[] {
  try {
    return context.use(policyRef).bundle().apns
  } catch {
    return context.settings.apns
  }
}

/** Of the phone that attached last; while none has, of those that the core knows, which are on and so not suspended. */
function simState(last: SubscriberView | undefined, attached: number): 'activated' | 'suspended' | 'none' {
  if (last === undefined) return attached > 0 ? 'activated' : 'none'
  if (last.state === 'suspended') return 'suspended'
  return last.state === 'in-use' || last.state === 'issued' ? 'activated' : 'none'
}

function instanceRecord({ name, role, leader, epoch }: InstanceView): object {
  return { name, role, leader: leader ?? null, epoch }
}

function runningSince(context: Context): { readonly version: string; readonly uptime_s: number } {
  const { version, startedAtMs } = context.use(serviceInfoRef)
  // The wall clock can be set back below the start.
  return { version, uptime_s: Math.max(0, Math.floor((context.clock.nowMs() - startedAtMs) / 1_000)) }
}

/** Without a mesh plugin nobody sees to it that phones get out. */
function breakoutRecord(standing: Awaited<ReturnType<Peering['state']>> | undefined): object {
  const { mode, peerCount } = standing?.breakout ?? { mode: 'off', peerCount: 0 }
  return { mode, peer_count: peerCount }
}

const HEALTH_SCHEMA = recordSchema({
  status: { type: 'string', description: 'ok, degraded or down; more may come.' },
  incidents: {
    type: 'array',
    items: INCIDENT_SCHEMA,
    description: 'What is wrong, one for each cause, the gravest first.',
  },
  boxes: BOXES_SCHEMA,
  components: {
    type: 'array',
    items: COMPONENT_SCHEMA,
    description: 'All of this box; of others those that are not ok, at most 20.',
  },
})

/** `GET /v1/health` and `GET /v1/status`. */
export function serviceRoutes(
  context: Context,
  lifecycle: NodeLifecycle,
  look: RadioLook,
  incidentsIn: IncidentLook,
  internet: InternetWatch,
): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/health',
      role: 'viewer',
      summary: 'Show the health of every component, and of other boxes what is not well',
      description:
        'down: something that the node needs is down; degraded: anything is not ok. The HTTP status is 200 either way.',
      schema: { response: HEALTH_SCHEMA },
      conditional: true,
      handle: async () => {
        const components = await allComponents(context)
        return ok({
          status: overallStatus(components),
          ...partsRecord(components, await incidentsIn(components), context.use(nodeIdentityRef).nodeId),
        })
      },
    }),
    route({
      method: 'GET',
      path: '/v1/status',
      role: 'viewer',
      summary: 'Show the state of the node and its core; answers when the node is ready',
      description: 'The summary for people and scripts. GET /v1/health has each component.',
      schema: { response: STATUS_SCHEMA },
      errors: ['not_ready'],
      handle: async () => {
        if (!context.use(healthBoardRef).isReady) {
          throw notReady('the first reconcile pass is not over; try again in a moment', { retryAfterS: 1 })
        }
        return ok(await statusRecord(context, lifecycle, look, incidentsIn, internet))
      },
    }),
  ]
}
