import type { PeersParts } from './parts.ts'
import type { PeerRow } from './peer-store.ts'

/** Peers whose link would be lost for a while if the key changed now: those that are active and not prepared. */
export function waitingFor(
  { board, members }: PeersParts,
  rows: readonly PeerRow[],
  nextKey: string,
): readonly PeerRow[] {
  const prepared = new Set(
    members
      .list()
      .filter(({ wireguard }) => wireguard?.prepared.includes(nextKey))
      .map(({ nodeId }) => nodeId),
  )
  return rows.filter(
    ({ id, node_id }) => board.active.has(id) && !(node_id !== null && prepared.has(node_id)),
  )
}

/**
 * The second half of a rotation: this node goes over to its next key once every active peer knows of it. Members tell so by
 * themselves; for other peers an operator says it (`force`). Gives whether it did.
 */
export async function changeKeyWhenReady(parts: PeersParts, rows: readonly PeerRow[]): Promise<boolean> {
  const { board, key, context } = parts
  const next = board.ownKeys?.next
  if (next === undefined || waitingFor(parts, rows, next).length > 0) return false
  await key.change()
  context.log.info({ public_key: next }, 'WireGuard key changed')
  return true
}
