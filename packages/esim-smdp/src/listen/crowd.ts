import type { Socket } from 'node:net'
import { networkOf } from '../es9/peers.ts'

/** The open connections of a listener, by network. */
export interface Crowd {
  readonly size: number
  /** A connection has come. False: it is one too many of its network, whose others are all at work, and closed. */
  admit(socket: Socket): boolean
  /** A request of the connection of that peer (`peerOf`) begins. False: it has too many under way, and should be closed. */
  begin(peer: string): boolean
  /** It is over. */
  over(peer: string): void
  /** Ends all connections, or those without a request alone. */
  end(which: 'idle' | 'all'): void
}

/** Phones send a request when they have the answer to the one before. */
const MOST_UNDER_WAY = 4

/**
 * At most `most` connections, of which one network has at most `ofOne`; beyond these its own oldest one that nobody waits on
 * goes, since many phones may be behind one address. When the house is full, room is made by the network that has most, with
 * its oldest connection that nobody waits on: strangers who hold connections keep no phone out.
 */
export function createCrowd(most: number, ofOne: number): Crowd {
  const byNetwork = new Map<string, Set<Socket>>()
  const busy = new Map<string, number>()
  const isIdle = (socket: Socket): boolean => !busy.has(peerOf(socket))
  let size = 0
  const forget = (network: string, socket: Socket): void => {
    const own = byNetwork.get(network)
    if (own?.delete(socket) !== true) return
    size -= 1
    if (own.size === 0) byNetwork.delete(network)
  }
  const end = (network: string, socket: Socket): void => {
    forget(network, socket)
    socket.destroy()
  }
  const makeRoom = (): void => {
    const [network, sockets] = [...byNetwork].toSorted(([, a], [, b]) => b.size - a.size)[0] ?? []
    if (network === undefined || sockets === undefined) return
    const first = [...sockets].find(isIdle) ?? [...sockets][0]
    if (first !== undefined) end(network, first)
  }
  return {
    get size() {
      return size
    },
    admit: (socket) => {
      const address = socket.remoteAddress ?? ''
      const network = networkOf(address) || address
      const own = byNetwork.get(network) ?? new Set()
      if (own.size >= ofOne) {
        const idle = [...own].find(isIdle)
        if (idle === undefined) {
          socket.destroy()
          return false
        }
        end(network, idle)
      }
      if (size >= most) makeRoom()
      byNetwork.set(network, (byNetwork.get(network) ?? new Set()).add(socket))
      size += 1
      socket.once('close', () => forget(network, socket))
      return true
    },
    begin: (peer) => {
      const now = (busy.get(peer) ?? 0) + 1
      busy.set(peer, now)
      return now <= MOST_UNDER_WAY
    },
    over: (peer) => {
      const left = (busy.get(peer) ?? 1) - 1
      if (left === 0) busy.delete(peer)
      else busy.set(peer, left)
    },
    end: (which) => {
      for (const sockets of byNetwork.values())
        for (const socket of sockets) if (which === 'all' || isIdle(socket)) socket.destroy()
    },
  }
}

/** Names a connection; the socket of the TCP connection and that of the TLS inside of it alike, while it is open. */
export function peerOf(socket: Socket): string {
  return `${socket.remoteAddress} ${socket.remotePort}`
}
