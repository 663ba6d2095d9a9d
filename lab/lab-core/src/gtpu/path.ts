import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import type { LabClock } from '../clock.ts'
import { type Direction, isGpdu } from './frame.ts'

/** What went over the path so far, in frames. */
interface PathCounts {
  readonly sent: number
  readonly arrived: number
  /** Sent, and nothing of them came out at the other end. */
  readonly lost: number
}

/** An address to bind, and where it came out. */
export interface PathAddress {
  readonly host: string
  readonly port: number
}

/** GTP-U between the radio's address and that of the SGW-U or UPF. Nothing goes over it unless somebody sends. */
export interface GtpuPath {
  /** Sends as soon as there is room; false when `isWanted` says no by then, or when the machine refuses the frame. */
  send(direction: Direction, frame: Uint8Array, isWanted: () => boolean): Promise<boolean>
  readonly counts: PathCounts
  readonly addresses: Readonly<Record<'radio' | 'core', PathAddress>>
  close(): Promise<void>
}

/**
 * Frames under way in one direction. A socket's usual buffer (212,992 octets) holds 92 full ones: with fewer, none is lost
 * when the reader is late.
 */
const WINDOW = 64
/** After so long without an arrival, ms, what is under way is given up for lost. */
const STALL_MS = 1_000

/** What a path needs. `sent`: told each frame that went out. */
export interface PathOptions {
  readonly radio: PathAddress
  readonly core: PathAddress
  readonly clock: LabClock
  readonly sent?: ((from: PathAddress, to: PathAddress, frame: Uint8Array) => void) | undefined
}

/** Binds both ends. Throws when one of the addresses is in use. */
export async function openPath({ radio, core, clock, sent }: PathOptions): Promise<GtpuPath> {
  const sockets: Socket[] = []
  const close = async (): Promise<void> => {
    stop.abort()
    for (const socket of sockets.splice(0)) socket.close()
  }
  const stop = new AbortController()
  try {
    const atRadio = await bound(radio, sockets)
    const atCore = await bound(core, sockets)
    const lanes = {
      up: lane({ from: atRadio, to: atCore, clock, sent, stop: stop.signal }),
      down: lane({ from: atCore, to: atRadio, clock, sent, stop: stop.signal }),
    }
    return {
      send: (direction, frame, isWanted) => lanes[direction].send(frame, isWanted),
      get counts() {
        const sum = (key: keyof PathCounts): number => lanes.up.counts[key] + lanes.down.counts[key]
        return { sent: sum('sent'), arrived: sum('arrived'), lost: sum('lost') }
      },
      addresses: { radio: addressOf(atRadio), core: addressOf(atCore) },
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

async function bound({ host, port }: PathAddress, sockets: Socket[]): Promise<Socket> {
  const socket = createSocket('udp4')
  sockets.push(socket)
  socket.bind(port, host)
  await once(socket, 'listening')
  // Whatever a later send fails with, its own callback says.
  socket.on('error', () => undefined)
  return socket
}

function addressOf(socket: Socket): PathAddress {
  const { address, port } = socket.address()
  return { host: address, port }
}

interface LaneOptions extends Pick<PathOptions, 'clock' | 'sent'> {
  readonly from: Socket
  readonly to: Socket
  readonly stop: AbortSignal
}

interface Lane {
  readonly counts: Readonly<Record<keyof PathCounts, number>>
  send(frame: Uint8Array, isWanted: () => boolean): Promise<boolean>
}

/** One direction: whoever wants to send waits for room, in order. */
function lane({ from, to, clock, sent, stop }: LaneOptions): Lane {
  const [source, target] = [addressOf(from), addressOf(to)]
  const counts = { sent: 0, arrived: 0, lost: 0 }
  const waiting: (() => void)[] = []
  const underWay = (): number => counts.sent - counts.arrived - counts.lost
  let isWatched = false
  const letIn = (): void => {
    // Each that is let in sends at once, before the next one is asked.
    for (let room = WINDOW - underWay(); room > 0 && waiting.length > 0; room -= 1) waiting.shift()?.()
  }
  to.on('message', (datagram) => {
    if (!isGpdu(datagram)) return
    if (underWay() === 0) {
      if (counts.lost === 0) return
      // Only late: this process did not come to read it.
      counts.lost -= 1
    }
    counts.arrived += 1
    letIn()
  })
  stop.addEventListener('abort', () => {
    for (const goOn of waiting.splice(0)) goOn()
  })
  const watch = async (): Promise<void> => {
    isWatched = true
    for (let before = -1; underWay() > 0; ) {
      if (counts.arrived === before) counts.lost += underWay()
      before = counts.arrived
      letIn()
      await clock.sleep(STALL_MS, stop)
    }
  }
  return {
    counts,
    send: async (frame, isWanted) => {
      while (underWay() >= WINDOW && !stop.aborted) {
        const { promise, resolve } = Promise.withResolvers<void>()
        waiting.push(resolve)
        await promise
      }
      if (stop.aborted || !isWanted()) {
        letIn()
        return false
      }
      counts.sent += 1
      if (!isWatched)
        void watch()
          .catch(() => undefined)
          .finally(() => {
            isWatched = false
          })
      return await new Promise((resolve) => {
        from.send(frame, target.port, target.host, (error) => {
          if (error !== null) {
            counts.sent -= 1
            letIn()
          } else sent?.(source, target, frame)
          resolve(error === null)
        })
      })
    },
  }
}
