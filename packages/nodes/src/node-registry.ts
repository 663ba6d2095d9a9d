import type { Context, NodeRegistry } from '@steeple/contracts'
import { findNode, putNode, removeHeartbeat } from './node-store.ts'

/** The records of other nodes, for whoever lets them in and out. */
export function nodeRegistry(context: Context): NodeRegistry {
  const { clock, db } = context
  return {
    enrolled: async (tx, { nodeId, name, certificateExpiresAtMs }) => {
      const own = db.join(tx)
      const before = await findNode(own, nodeId)
      const nowMs = clock.nowMs()
      const isBack = before === undefined || before.left_at_ms !== null
      const isRegistered = !isBack && before.state !== 'provision'
      await putNode(own, {
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
      const before = await findNode(own, nodeId)
      if (before === undefined) return
      const nowMs = clock.nowMs()
      await putNode(own, { ...before, state: 'provision', state_since_ms: nowMs, left_at_ms: nowMs })
      // Nobody expects one of it any more.
      await removeHeartbeat(own, nodeId)
    },
  }
}
