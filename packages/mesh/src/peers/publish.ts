import { isAdvertisingAllowed, spelled } from './grounds.ts'
import type { PeersParts } from './parts.ts'
import { listOf, type PeerRow } from './peer-store.ts'

/** Tells the members of the mesh about this node's interface, when there is a mesh and something new to tell. */
export async function publishOwn(parts: PeersParts, rows: readonly PeerRow[]): Promise<void> {
  const { members, board, context } = parts
  const { ownKeys, prepared } = board
  if (members.overlay() === undefined || ownKeys === undefined) return
  const { endpoint, listen_port: listenPort, advertise } = context.config
  const wireguard = {
    publicKey: ownKeys.present,
    nextPublicKey: ownKeys.next,
    prepared: [...prepared].sort(),
    endpoint: endpoint === '' ? undefined : endpoint,
    listenPort,
    advertised: advertise.map(spelled),
    takes: isAdvertisingAllowed(parts) ? takenFrom(rows) : [],
  }
  const text = JSON.stringify(wireguard)
  if (board.published === text) return
  await members.publish(wireguard)
  board.published = text
}

/**
 * What of members this node takes packets of: networks that are approved of one peer alone, however its link is now. By this a
 * member knows whether its phones' own addresses get through here.
 */
function takenFrom(rows: readonly PeerRow[]): readonly string[] {
  const approved = rows.flatMap(({ node_id, approved: routes, advertised }) =>
    listOf(routes)
      .filter((cidr) => cidr !== '0.0.0.0/0' && listOf(advertised).includes(cidr))
      .map((cidr) => ({ node_id, cidr })),
  )
  const isOnly = (cidr: string): boolean => approved.filter((one) => one.cidr === cidr).length === 1
  return approved
    .flatMap(({ node_id, cidr }) => (node_id !== null && isOnly(cidr) ? [`${node_id} ${cidr}`] : []))
    .toSorted()
}
