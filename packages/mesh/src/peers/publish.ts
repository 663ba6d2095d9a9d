import { spelled } from './grounds.ts'
import type { PeersParts } from './parts.ts'

/** Tells the members of the mesh about this node's interface, when there is a mesh and something new to tell. */
export async function publishOwn({ members, board, context }: PeersParts): Promise<void> {
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
  }
  const text = JSON.stringify(wireguard)
  if (board.published === text) return
  await members.publish(wireguard)
  board.published = text
}
