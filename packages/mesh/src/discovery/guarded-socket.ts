import { createSocket, type Socket } from 'node:dgram'
import { EventEmitter } from 'node:events'

/** Octets: RFC 6762 §17 lets a message be larger; what is announced here fits into one frame of Ethernet. */
const MESSAGE_LIMIT = 1_500
/** Messages that are read at once, and per second on end. A quiet network has a few in a minute. */
const BURST = 200
const PER_S = 40

/** How many may still be read. */
export interface Allowance {
  take(nowMs: number): boolean
}

/** A bucket of `burst` that fills by `perS`. */
export function allowance(burst: number, perS: number): Allowance {
  let left = burst
  let atMs = 0
  return {
    take: (nowMs) => {
      left = Math.min(burst, left + (Math.max(0, nowMs - atMs) / 1_000) * perS)
      atMs = nowMs
      if (left < 1) return false
      left -= 1
      return true
    },
  }
}

/**
 * A UDP socket for the mDNS library, through which a stranger can neither throw in its parser nor keep it busy: what is too
 * large or too much is dropped unread, and what its listeners throw at a message goes no further. `isWrong` is told of faults
 * of the socket itself.
 */
export function guardedSocket(nowMs: () => number, isWrong: (error: unknown) => void): EventEmitter {
  const socket = createSocket({ type: 'udp4', reuseAddr: true })
  return guarded(socket, nowMs, isWrong)
}

/** As `guardedSocket`, around any socket. */
export function guarded(
  socket: Socket,
  nowMs: () => number,
  isWrong: (error: unknown) => void,
): EventEmitter {
  const inner = new EventEmitter()
  const messages = allowance(BURST, PER_S)
  const tell = (event: string, ...args: readonly unknown[]): void => {
    try {
      inner.emit(event, ...args)
    } catch {
      // The library throws at malformed records, and hands on faults that nobody there listens for.
    }
  }
  socket.on('listening', () => tell('listening'))
  socket.on('error', (error) => {
    isWrong(error)
    tell('error', error)
  })
  socket.on('message', (message, from) => {
    if (message.length <= MESSAGE_LIMIT && messages.take(nowMs())) tell('message', message, from)
  })
  // What multicast-dns calls on a socket.
  return Object.assign(inner, {
    bind: (port: number, address: string | undefined, bound: () => void) =>
      socket.bind(port, address, () => bound()),
    send: socket.send.bind(socket),
    close: (closed: () => void) => socket.close(closed),
    address: () => socket.address(),
    addMembership: socket.addMembership.bind(socket),
    dropMembership: socket.dropMembership.bind(socket),
    setMulticastInterface: socket.setMulticastInterface.bind(socket),
    setMulticastLoopback: socket.setMulticastLoopback.bind(socket),
    setMulticastTTL: socket.setMulticastTTL.bind(socket),
  })
}
