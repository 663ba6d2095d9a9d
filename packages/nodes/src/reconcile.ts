import {
  type Context,
  healthBoardRef,
  nodeIdentityRef,
  type Outcome,
  type Reconciler,
  systemPrincipal,
} from '@steeple/contracts'
import { degradedReason } from './degraded.ts'
import type { NodeLifecycle } from './lifecycle.ts'
import { findOverlay, putOverlay, removeOverlay, troubledNodes } from './node-store.ts'

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
  const before = await findOverlay(context.db, nodeId)
  if (reason === before?.reason) return
  const by = systemPrincipal('nodes')
  if (reason === undefined) {
    await context.mutate(by, 'node.recover', nodeId, (tx) => removeOverlay(tx, nodeId))
    return
  }
  const sinceMs = before?.since_ms ?? context.clock.nowMs()
  if (before !== undefined) {
    await context.db.write((tx) => putOverlay(tx, { node_id: nodeId, reason, since_ms: sinceMs }))
    return
  }
  await context.mutate(by, 'node.degrade', nodeId, async (tx) => {
    await putOverlay(tx, { node_id: nodeId, reason, since_ms: sinceMs })
    tx.audit({ detail: { reason } })
    tx.event({ type: 'node.degrade', subject: nodeId, data: { reason } })
  })
}

/** This node, and those of a thousand others that are degraded or should be: the others were looked at with their heartbeat. */
async function nodeIds(context: Context): Promise<readonly string[]> {
  const ids = await troubledNodes(context.db, context.clock.nowMs())
  return [...new Set([context.use(nodeIdentityRef).nodeId, ...ids])]
}
