import { type Context, coreChangesRef, healthBoardRef, nodeIdentityRef } from '@steeple/contracts'
import { agentTrouble } from './agent-components.ts'
import { findHeartbeat } from './node-store.ts'
import { isAtWork } from './planned-work.ts'

/**
 * Why a node is degraded now; undefined when it is not.
 *
 * A stale heartbeat, a component that its agent reports as down, and for this node a required component of the
 * service that is not ok. A node that never sent a heartbeat is judged without one.
 */
export async function degradedReason(context: Context, nodeId: string): Promise<string | undefined> {
  const heartbeat = await findHeartbeat(context.db, nodeId)
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
