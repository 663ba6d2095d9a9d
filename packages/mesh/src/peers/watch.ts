import type { ComponentHealth } from '@steeple/contracts'
import type { PeersParts } from './parts.ts'
import { allPeers } from './peer-store.ts'
import { stateOf } from './record.ts'

/** Names in one line. */
const MOST_NAMED = 5
const STATES = ['pending', 'active', 'stale'] as const

/** Sets the gauges of peers. */
export function peerGauges({ context, board }: PeersParts): () => Promise<void> {
  const peers = context.metrics.gauge('svc_mesh_peers', 'Peers, by state.', ['state'])
  const foreign = context.metrics.gauge(
    'svc_mesh_foreign_peers',
    'Peers on the WireGuard interface that this service did not make.',
  )
  return async () => {
    const rows = (await allPeers(context.db)).filter(({ removed_at_ms }) => removed_at_ms === null)
    for (const state of STATES) {
      peers.set(rows.filter((row) => stateOf(row, board) === state).length, { state })
    }
    foreign.set(board.foreign.length)
  }
}

/** What the links look like, in one line. */
export async function peersHealth({ context, board }: PeersParts): Promise<readonly ComponentHealth[]> {
  if (!context.config.enabled) return []
  const rows = (await allPeers(context.db)).filter(({ removed_at_ms }) => removed_at_ms === null)
  if (rows.length === 0 && board.refused.length === 0) return []
  const down = rows.filter((row) => stateOf(row, board) !== 'active')
  const detail =
    board.problem ??
    [
      `${rows.length - down.length} of ${rows.length} peers active`,
      ...(down.length === 0
        ? []
        : [
            `not: ${down
              .slice(0, MOST_NAMED)
              .map(({ name }) => name)
              .join(', ')}`,
          ]),
      ...board.refused.slice(0, MOST_NAMED).map(({ name, why }) => `the member ${name} is refused: ${why}`),
      ...(board.foreign.length === 0
        ? []
        : [`${board.foreign.length} on the interface that this service did not make`]),
    ].join('; ')
  const isWhole = board.problem === undefined && down.length === 0 && board.refused.length === 0
  return [{ name: 'wireguard', kind: 'peer', status: isWhole ? 'ok' : 'degraded', detail }]
}
