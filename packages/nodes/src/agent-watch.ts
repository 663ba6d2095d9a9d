import type { AgentWatch, Context } from '@steeple/contracts'
import { agentStates, isStale } from './agent-components.ts'
import { findNode, listHeartbeats } from './node-store.ts'

/** More agents than a mesh has. */
const MOST_AGENTS = 1_000

/** The agents' newest heartbeats, for whoever judges them. */
export function agentWatch({ db, clock }: Context): AgentWatch {
  return {
    agents: async () => {
      const nowMs = clock.nowMs()
      return await Promise.all(
        (await listHeartbeats(db, MOST_AGENTS)).map(async (heartbeat) => ({
          nodeId: heartbeat.node_id,
          name: (await findNode(db, heartbeat.node_id))?.name ?? '',
          isStale: isStale(heartbeat, nowMs),
          silentMs: Math.max(0, nowMs - heartbeat.received_at_ms),
          skewMs: heartbeat.at_ms - heartbeat.received_at_ms,
          components: agentStates(heartbeat, nowMs),
        })),
      )
    },
  }
}
