import { type Context, nodeIdentityRef, systemPrincipal } from '@steeple/contracts'
import { findNode, insertNode } from './node-store.ts'

/** Makes the record of this node from its identity at the first start, in state provision. Idempotent. */
export async function ensureOwnNode(context: Context): Promise<void> {
  const { nodeId, name, createdAtMs, certificateExpiresAtMs } = context.use(nodeIdentityRef)
  if ((await findNode(context.db, nodeId)) !== undefined) return
  await context.mutate(systemPrincipal('nodes'), 'node.init', nodeId, async (tx) => {
    if ((await findNode(tx, nodeId)) !== undefined) return
    await insertNode(tx, {
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
