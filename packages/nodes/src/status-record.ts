import {
  type Context,
  type InstanceView,
  type JsonSchema,
  type MeshStanding,
  meshStandingRef,
  nodeIdentityRef,
  objectSchema,
  policyRef,
  type SubscriberView,
  serviceInfoRef,
  subscribersRef,
  txGateRef,
} from '@steeple/contracts'
import { formatPlmn } from '@steeple/telecom'
import { allComponents, COMPONENT_SCHEMA, componentRecord } from './component-record.ts'
import { degradedReason } from './degraded.ts'
import type { NodeLifecycle } from './lifecycle.ts'
import { type NodeStatus, statusOf } from './lifecycle-table.ts'
import type { RadioLook } from './radio-view.ts'

const TEXT: JsonSchema = { type: 'string' }
const FLAG: JsonSchema = { type: 'boolean' }
const COUNT: JsonSchema = { type: 'integer', minimum: 0 }

/** The body of `GET /v1/status`: the specification's fields and the additive ones of contract section 3. */
export const STATUS_SCHEMA: JsonSchema = objectSchema(
  {
    state: { ...TEXT, description: 'bootstrap, registered, on-air, peered or degraded; more may come.' },
    plmn: { ...TEXT, description: 'MCC-MNC.' },
    tac: COUNT,
    apns: { type: 'array', items: TEXT },
    enb: objectSchema(
      {
        connected: FLAG,
        mode: { ...TEXT, description: 'lte, nr, none, or unknown; more may come.' },
        s1_setup: FLAG,
        known: {
          ...FLAG,
          description:
            'False while neither the core nor an own radio tells; connected and s1_setup are false then.',
        },
      },
      ['connected', 'mode', 's1_setup', 'known'],
    ),
    ue: objectSchema(
      {
        registered: { ...FLAG, description: 'Whether at least one phone is seen to be.' },
        sim_state: { ...TEXT, description: 'activated, suspended or none: the most recent phone.' },
        attached: {
          type: ['integer', 'null'],
          minimum: 0,
          description: 'Null while the core does not tell.',
        },
        known: { ...FLAG, description: 'False while the core does not tell; registered is false then.' },
      },
      ['registered', 'sim_state', 'attached', 'known'],
    ),
    breakout: objectSchema(
      { mode: { ...TEXT, description: 'local, peer or off, as observed.' }, peer_count: COUNT },
      ['mode', 'peer_count'],
    ),
    mode: { ...TEXT, description: 'lab or rf.' },
    core: TEXT,
    country: TEXT,
    node_id: TEXT,
    version: TEXT,
    uptime_s: COUNT,
    tx: objectSchema({ armed: FLAG }, ['armed']),
    instance: objectSchema(
      {
        name: { ...TEXT, description: 'As cluster.instance names it; empty where there is one.' },
        role: { ...TEXT, description: 'alone, leader or follower.' },
        leader: { type: ['string', 'null'], description: 'Null while nobody leads.' },
        epoch: { ...COUNT, description: 'Grows with each leader.' },
      },
      ['name', 'role', 'leader', 'epoch'],
    ),
    components: { type: 'array', items: COMPONENT_SCHEMA },
  },
  [
    'state',
    'plmn',
    'tac',
    'apns',
    'enb',
    'ue',
    'breakout',
    'mode',
    'core',
    'country',
    'node_id',
    'version',
    'uptime_s',
    'tx',
    'instance',
    'components',
  ],
)

/** The status of this node as it is now. */
export async function statusRecord(
  context: Context,
  lifecycle: NodeLifecycle,
  look: RadioLook,
): Promise<object> {
  const { nodeId } = context.use(nodeIdentityRef)
  const [state, reason, components, radio, gate, standing, last] = await Promise.all([
    lifecycle.state(),
    degradedReason(context, nodeId),
    allComponents(context),
    look(),
    context.maybe(txGateRef)?.state(),
    context.maybe(meshStandingRef)?.state(),
    // A damaged row of a SIM is no reason to say nothing of the node.
    context
      .maybe(subscribersRef)
      ?.lastAttached()
      .catch(() => undefined),
  ])
  const status: NodeStatus = statusOf(state, reason !== undefined)
  const { settings } = context
  return {
    state: status,
    plmn: formatPlmn(settings.plmn),
    tac: settings.tac,
    apns: apnsOf(context),
    enb: {
      connected: radio.isConnected ?? false,
      mode: radio.mode ?? 'unknown',
      s1_setup: radio.isConnected ?? false,
      known: radio.isConnected !== null,
    },
    ue: {
      registered: (radio.attachedUes ?? 0) > 0,
      sim_state: simState(last, radio.attachedUes ?? 0),
      attached: radio.attachedUes,
      known: radio.attachedUes !== null,
    },
    breakout: breakoutRecord(standing),
    mode: settings.server.mode,
    core: settings.core,
    country: settings.server.country,
    node_id: nodeId,
    ...runningSince(context),
    tx: { armed: gate?.armed ?? false },
    instance: instanceRecord(context.use(serviceInfoRef).instance()),
    components: components.map(componentRecord),
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
function breakoutRecord(standing: Awaited<ReturnType<MeshStanding['state']>> | undefined): object {
  const { mode, peerCount } = standing?.breakout ?? { mode: 'off', peerCount: 0 }
  return { mode, peer_count: peerCount }
}
