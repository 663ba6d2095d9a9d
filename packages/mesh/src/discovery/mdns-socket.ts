import { createSocket, type Socket } from 'node:dgram'
import { EventEmitter } from 'node:events'
import Bonjour from 'bonjour-service'
import { type Announcement, type HeardService, instanceName, SERVICE_TYPE, txtOf } from './announcement.ts'

/** Octets: RFC 6762 §17 lets a message be larger; what is announced here fits into one frame of Ethernet. */
const MESSAGE_LIMIT = 1_500
/** Messages that are read at once, and per second on end. A quiet network has a few in a minute. */
const BURST = 200
const PER_S = 40

/** How many may still be read. */
interface Allowance {
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
function guardedSocket(nowMs: () => number, isWrong: (error: unknown) => void): EventEmitter {
  const socket = createSocket({ type: 'udp4', reuseAddr: true })
  return guarded(socket, nowMs, isWrong)
}

/** As `guardedSocket`, around any socket. */
function guarded(socket: Socket, nowMs: () => number, isWrong: (error: unknown) => void): EventEmitter {
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

/** Services that one look may bring: the library keeps all of them, and compares each new one with all. */
const LOOK_LIMIT = 256
/** What a goodbye may take. */
const END_BOUND_MS = 1_000

/** What is heard and said by mDNS. RFC 6762, RFC 6763. */
export interface MdnsSocket {
  /** From now on this is announced, in the place of what was; undefined: nothing. */
  announce(announcement: Announcement | undefined): void
  /** Asks who is there. What was heard before comes again from those that are. */
  look(): void
  /** Says goodbye. */
  end(): Promise<void>
}

/** What it needs. */
export interface MdnsSocketParts {
  readonly nowMs: () => number
  readonly heard: (service: HeardService) => void
  /** A fault of the socket or in what somebody has sent. */
  readonly isWrong: (error: unknown) => void
}

/** Opens a socket on port 5353 beside those of others. */
export function openMdnsSocket({ nowMs, heard, isWrong }: MdnsSocketParts): MdnsSocket {
  const options = { socket: guardedSocket(nowMs, isWrong) }
  // What is more in the options goes to multicast-dns, which takes a socket; the library's types do not say so.
  const bonjour = new Bonjour(options as object, isWrong)
  let service: ReturnType<typeof bonjour.publish> | undefined
  let browser: ReturnType<typeof bonjour.find> | undefined
  let announced = ''
  return {
    announce: (announcement) => {
      const text = JSON.stringify(announcement ?? null)
      if (text === announced) return
      announced = text
      service?.stop?.()
      service =
        announcement === undefined
          ? undefined
          : bonjour.publish({
              name: instanceName(announcement),
              type: SERVICE_TYPE,
              port: announcement.port,
              txt: txtOf(announcement),
              // The name is nobody else's; a probe lets whoever answers it keep this node silent.
              probe: false,
            })
    },
    look: () => {
      browser?.stop()
      let count = 0
      const take = (one: HeardService): void => {
        count += 1
        if (count > LOOK_LIMIT) found.stop()
        else heard(one)
      }
      const found = bonjour.find({ type: SERVICE_TYPE }, take)
      found.on('txt-update', take)
      found.on('srv-update', take)
      browser = found
    },
    end: () =>
      new Promise((resolve) => {
        const timer = setTimeout(resolve, END_BOUND_MS)
        browser?.stop()
        bonjour.unpublishAll(() =>
          bonjour.destroy(() => {
            clearTimeout(timer)
            resolve()
          }),
        )
      }),
  }
}
