import Bonjour from 'bonjour-service'
import { type Announcement, type HeardService, instanceName, SERVICE_TYPE, txtOf } from './announcement.ts'
import { guardedSocket } from './guarded-socket.ts'

/** Services that one look may bring: the library keeps all of them, and compares each new one with all. */
const LOOK_LIMIT = 256
/** What a goodbye may take. */
const END_BOUND_MS = 1_000

/** What is heard and said by mDNS. RFC 6762, RFC 6763. */
export interface Airwaves {
  /** From now on this is announced, in the place of what was; undefined: nothing. */
  announce(announcement: Announcement | undefined): void
  /** Asks who is there. What was heard before comes again from those that are. */
  look(): void
  /** Says goodbye. */
  end(): Promise<void>
}

/** What it needs. */
export interface AirwavesParts {
  readonly nowMs: () => number
  readonly heard: (service: HeardService) => void
  /** A fault of the socket or in what somebody has sent. */
  readonly isWrong: (error: unknown) => void
}

/** Opens a socket on port 5353 beside those of others. */
export function openAirwaves({ nowMs, heard, isWrong }: AirwavesParts): Airwaves {
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
