import {
  type Context,
  coreChangesRef,
  healthBoardRef,
  nodeIdentityRef,
  type Outcome,
  type Reconciler,
  systemPrincipal,
} from '@steeple/contracts'
import { agentTrouble } from './agent-components.ts'
import type { NodeLifecycle } from './lifecycle.ts'
import { HEARTBEATS, OVERLAYS, troubledNodes } from './node-store.ts'
import { isAtWork } from './planned-work.ts'

/**
 * Why a node is degraded now; undefined when it is not.
 *
 * A stale heartbeat, a component that its agent reports as down, and for this node a required component of the
 * service that is not ok. A node that never sent a heartbeat is judged without one.
 */
export async function degradedReason(context: Context, nodeId: string): Promise<string | undefined> {
  const heartbeat = await HEARTBEATS.find(context.db, { node_id: nodeId })
  const trouble = heartbeat === undefined ? undefined : agentTrouble(heartbeat, context.clock.nowMs())
  if (nodeId !== context.use(nodeIdentityRef).nodeId) return trouble
  const work = context.maybe(coreChangesRef)?.last()
  const ill = context
    .use(healthBoardRef)
    .components()
    .filter((one) => one.required && one.status !== 'ok' && !isAtWork(one, context.clock.nowMs(), work))
    .map(({ name }) => name)
  return ill.length === 0 ? trouble : `not ok: ${ill.join(', ')}`
}

/** As the kernel knows the reconciler. */
export const NODE_RESOURCE = 'node'
/** Staleness has no event of its own. */
const RESYNC_MS = 5_000
const BATCH_NODES = 50

/** Keeps the degraded overlay of each node, with an event when it comes and goes, and this node off a closed TX gate. */
export function nodeReconciler(context: Context, lifecycle: NodeLifecycle): Reconciler {
  const look = async (nodeId: string): Promise<void> => {
    const isOwn = nodeId === context.use(nodeIdentityRef).nodeId
    if (isOwn && (await lifecycle.heal())) {
      context.log.warn({ nodeId }, 'lifecycle fell back to register since TX is not armed')
    }
    if (isOwn) await follow(context, lifecycle)
    // Until the first pass is over the health of this service is not known.
    if (isOwn && !context.use(healthBoardRef).isReady) return
    await updateOverlay(context, nodeId)
  }
  return {
    resource: NODE_RESOURCE,
    resyncMs: RESYNC_MS,
    batch: BATCH_NODES,
    keys: () => nodeIds(context),
    reconcile: async (keys, signal) => {
      const outcomes = new Map<string, Outcome>()
      for (const nodeId of keys) {
        signal.throwIfAborted()
        await look(nodeId)
        outcomes.set(nodeId, { state: 'converged' })
      }
      return outcomes
    },
  }
}

/** As far as it goes at once: two steps up at most, or two back. */
async function follow(context: Context, lifecycle: NodeLifecycle): Promise<void> {
  for (let to = await lifecycle.followMesh(); to !== undefined; to = await lifecycle.followMesh()) {
    context.log.info({ to }, 'lifecycle follows the mesh')
  }
}

async function updateOverlay(context: Context, nodeId: string): Promise<void> {
  const reason = await degradedReason(context, nodeId)
  const before = await OVERLAYS.find(context.db, { node_id: nodeId })
  if (reason === before?.reason) return
  const by = systemPrincipal('nodes')
  if (reason === undefined) {
    await context.mutate(by, 'node.recover', nodeId, async (tx) => {
      await OVERLAYS.remove(tx, { node_id: nodeId })
    })
    return
  }
  const row = { node_id: nodeId, reason, since_ms: before?.since_ms ?? context.clock.nowMs() }
  if (before !== undefined) {
    await context.db.write((tx) => OVERLAYS.put(tx, row))
    return
  }
  await context.mutate(by, 'node.degrade', nodeId, async (tx) => {
    await OVERLAYS.put(tx, row)
    tx.audit({ detail: { reason } })
    tx.event({ type: 'node.degrade', subject: nodeId, data: { reason } })
  })
}

/** This node, and those of a thousand others that are degraded or should be: the others were looked at with their heartbeat. */
async function nodeIds(context: Context): Promise<readonly string[]> {
  const ids = await troubledNodes(context.db, context.clock.nowMs())
  return [...new Set([context.use(nodeIdentityRef).nodeId, ...ids])]
}
