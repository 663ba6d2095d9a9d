import type { Socket } from 'node:net'
import type { ConnectionQueues } from './connection-queue.ts'

/** An answer is looked at so often within the time that it may lie unread. */
const LOOKS = 4

/** The open connections of a listener. */
export interface Connections {
  readonly size: number
  /** A connection has come. When there are too many, another one that nobody needs is closed for it. */
  add(socket: Socket): void
  /** The connection speaks TLS from here on: requests know it by this socket. */
  secure(socket: Socket): void
  /** Ends connections whose clients read no further, from now until the returned function is called. */
  watch(): () => void
}

/**
 * The connections of a listener: at most `most`, and none on which an answer lies unread for `stallMs`.
 *
 * Strangers who hold connections cannot keep others out: room is made at the address that has most of them, by the
 * oldest without a request under way.
 */
export function createConnections(most: number, stallMs: number, queues: ConnectionQueues): Connections {
  const byAddress = new Map<string, Set<Socket>>()
  const byPeer = new Map<string, Socket>()
  const secured = new WeakMap<Socket, Socket>()
  let size = 0
  const forget = (socket: Socket, address: string, peer: string): void => {
    const own = byAddress.get(address)
    if (own?.delete(socket) !== true) return
    size -= 1
    if (own.size === 0) byAddress.delete(address)
    byPeer.delete(peer)
  }
  const makeRoom = (): void => {
    let crowd: ReadonlySet<Socket> = new Set()
    for (const sockets of byAddress.values()) if (sockets.size > crowd.size) crowd = sockets
    let first: Socket | undefined
    for (const socket of crowd) {
      first ??= socket
      if (!queues.isIdle(secured.get(socket) ?? socket)) continue
      first = socket
      break
    }
    if (first === undefined) return
    forget(first, addressOf(first), peerOf(first))
    first.destroy()
  }
  return {
    get size() {
      return size
    },
    add: (socket) => {
      if (size >= most) makeRoom()
      const [address, peer] = [addressOf(socket), peerOf(socket)]
      const own = byAddress.get(address) ?? new Set()
      byAddress.set(address, own.add(socket))
      byPeer.set(peer, socket)
      size += 1
      socket.once('close', () => forget(socket, address, peer))
    },
    secure: (socket) => {
      const plain = byPeer.get(peerOf(socket))
      if (plain !== undefined) secured.set(plain, socket)
    },
    watch: () => {
      const timer = setInterval(() => {
        for (const queue of queues.open) queue.endIfUnread(LOOKS)
      }, stallMs / LOOKS).unref()
      return () => clearInterval(timer)
    },
  }
}

function addressOf(socket: Socket): string {
  return socket.remoteAddress ?? ''
}

function peerOf(socket: Socket): string {
  return `${socket.remoteAddress} ${socket.remotePort} ${socket.localPort}`
}
