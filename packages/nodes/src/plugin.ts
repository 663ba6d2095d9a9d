import {
  type AgentView,
  type AgentWatch,
  agentWatchRef,
  type Context,
  certificateEndsRef,
  coreChangesRef,
  createTurns,
  healthBoardRef,
  type IncidentBoard,
  incidentBoardRef,
  lifecycleRef,
  type NodeRegistry,
  type NodeReport,
  nodeIdentityRef,
  nodeRegistryRef,
  nodeReporterRef,
  type Plugin,
  peeringRef,
  systemPrincipal,
} from '@steeple/contracts'
import { allAgentStates, isStale } from './agent-components.ts'
import { certificateEnds, certificateHealth, diskHealth, quietWatch } from './box-health.ts'
import { clockRoutes } from './clock-routes.ts'
import { NODE_RESOURCE, nodeReconciler } from './degraded.ts'
import { incidentLook } from './incidents.ts'
import { INTERNET_MS, ownInternet } from './internet.ts'
import { createLifecycle, lifecycleRoutes } from './lifecycle.ts'
import { nodeRoutes } from './node-routes.ts'
import {
  HEARTBEATS,
  type HeartbeatRow,
  listHeartbeats,
  MIGRATIONS,
  NODES,
  nodeNames,
  TABLES,
} from './node-store.ts'
import { outageBook, outageRoutes } from './outages.ts'
import { createRadioLook, nodeReporter } from './report.ts'
import { serviceRoutes, withAgents } from './service-routes.ts'
import { telemetryRoutes } from './telemetry-routes.ts'

/** How often phones are counted, ms. */
const SAMPLE_MS = 10_000
/** More agents than a mesh has. */
const MOST_AGENTS = 1_000

/** The agents' newest heartbeats, for whoever judges them. */
export function agentWatch({ db, clock }: Context): AgentWatch {
  return {
    agents: async () => {
      const nowMs = clock.nowMs()
      const names = await nodeNames(db)
      return (await listHeartbeats(db, MOST_AGENTS)).map((heartbeat) => {
        const name = names.get(heartbeat.node_id) ?? ''
        return {
          nodeId: heartbeat.node_id,
          name,
          isStale: isStale(heartbeat, nowMs),
          silentMs: Math.max(0, nowMs - heartbeat.received_at_ms),
          skewMs: heartbeat.at_ms - heartbeat.received_at_ms,
          components: allAgentStates(heartbeat, nowMs, name),
          ...outagesIn(heartbeat),
        }
      })
    },
  }
}

/** The outages that a node tells of. */
function outagesIn({ node }: HeartbeatRow): Pick<AgentView, 'incidents'> {
  if (node === null) return {}
  const { incidents } = JSON.parse(node) as Partial<NodeReport> // checked as it came in
  return incidents === undefined ? {} : { incidents }
}

/** Node records, lifecycle, telemetry, status and health. */
export const plugin: Plugin = {
  migrations: MIGRATIONS,
  tables: TABLES,
  setup: async (context) => {
    const lifecycle = createLifecycle(context)
    context.onChange(peeringRef, () => context.enqueue(NODE_RESOURCE, context.use(nodeIdentityRef).nodeId))
    const look = createRadioLook(context)
    // Without a base station no phone is on, although a core keeps those that it has not missed yet.
    const attached = async (): Promise<number | undefined> => {
      const { isConnected, attachedUes } = await look()
      return isConnected === false ? 0 : (attachedUes ?? undefined)
    }
    const incidentsIn = incidentLook(context.clock, attached, () => context.maybe(coreChangesRef)?.last())
    // Who watches all the time goes by what the health polls have seen, and asks nobody again.
    const incidents: IncidentBoard = {
      current: async () => incidentsIn(await withAgents(context, context.use(healthBoardRef).components())),
    }
    const reporter = nodeReporter(context, lifecycle, look, incidents)
    const certificates = certificateEnds(context)
    const [quiet, internet] = [quietWatch(), ownInternet(context)]
    context.every(INTERNET_MS, internet.look, 'each')
    const book = outageBook(context)
    const turns = createTurns()
    // How many phones were on is known when an incident begins. Nothing is over before everything was looked at.
    const see = async (): Promise<void> => {
      const now = await incidents.current()
      if (context.use(healthBoardRef).isReady) await turns(() => book.see(now))
    }
    context.every(SAMPLE_MS, see, 'each')
    context.on('health.*', see, 'each')
    return {
      routes: [
        ...nodeRoutes(context, reporter),
        ...clockRoutes(context),
        ...telemetryRoutes(context),
        ...lifecycleRoutes(context, lifecycle),
        ...outageRoutes(book),
        ...serviceRoutes(context, lifecycle, look, incidentsIn, internet),
      ],
      reconcilers: [nodeReconciler(context, lifecycle)],
      services: new Map<string, object>([
        [agentWatchRef.id, agentWatch(context)],
        [certificateEndsRef.id, certificates],
        [incidentBoardRef.id, incidents],
        [lifecycleRef.id, lifecycle],
        [nodeRegistryRef.id, nodeRegistry(context)],
        [nodeReporterRef.id, reporter],
      ]),
      start: () => ensureOwnNode(context),
      health: async () => {
        const nowMs = context.clock.nowMs()
        return [
          await diskHealth(context.settings.server.data_dir),
          ...certificateHealth(await certificates.ends(), nowMs),
          quiet(await attached(), nowMs),
          internet.health(),
        ]
      },
    }
  },
}

/** Makes the record of this node from its identity at the first start, in state provision. Idempotent. */
export async function ensureOwnNode(context: Context): Promise<void> {
  const { nodeId, name, createdAtMs, certificateExpiresAtMs } = context.use(nodeIdentityRef)
  if ((await NODES.find(context.db, { node_id: nodeId })) !== undefined) return
  await context.mutate(systemPrincipal('nodes'), 'node.init', nodeId, async (tx) => {
    if ((await NODES.find(tx, { node_id: nodeId })) !== undefined) return
    await NODES.insert(tx, {
      node_id: nodeId,
      name,
      state: 'provision',
      state_since_ms: context.clock.nowMs(),
      created_at_ms: createdAtMs,
      enrolled_at_ms: null,
      certificate_expires_at_ms: certificateExpiresAtMs,
      left_at_ms: null,
    })
    tx.audit({ detail: { name } })
  })
}

/** The records of other nodes, for whoever lets them in and out. */
export function nodeRegistry(context: Context): NodeRegistry {
  const { clock, db } = context
  return {
    enrolled: async (tx, { nodeId, name, certificateExpiresAtMs }) => {
      const own = db.join(tx)
      const before = await NODES.find(own, { node_id: nodeId })
      const nowMs = clock.nowMs()
      const isBack = before === undefined || before.left_at_ms !== null
      const isRegistered = !isBack && before.state !== 'provision'
      await NODES.put(own, {
        node_id: nodeId,
        name,
        // Specification, "Node lifecycle": enrollment moves it there. What it was before it left it is not again.
        state: isRegistered ? before.state : 'register',
        state_since_ms: isRegistered ? before.state_since_ms : nowMs,
        created_at_ms: before?.created_at_ms ?? nowMs,
        enrolled_at_ms: isBack ? nowMs : before.enrolled_at_ms,
        certificate_expires_at_ms: certificateExpiresAtMs,
        left_at_ms: null,
      })
    },
    left: async (tx, nodeId) => {
      const own = db.join(tx)
      const before = await NODES.find(own, { node_id: nodeId })
      if (before === undefined) return
      const nowMs = clock.nowMs()
      await NODES.put(own, { ...before, state: 'provision', state_since_ms: nowMs, left_at_ms: nowMs })
      // Nobody expects one of it any more.
      await HEARTBEATS.remove(own, { node_id: nodeId })
    },
  }
}
