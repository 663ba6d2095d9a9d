import type { ApnSubscription } from '../hss/subscription.ts'
import { type AddressPool, addressPool, type Lease } from './address-pool.ts'

/** One PDN session with what went through it. */
export interface Session {
  readonly imsi: string
  readonly apn: string
  readonly ebi: number
  readonly qci: number
  readonly lease: Lease
  /** Tunnel endpoint of both ends; each session of a run has its own. TS 29.281 §5.1. */
  readonly teid: number
  /** Octets of inner packets since the session began; the real core counts none. */
  upBytes: number
  downBytes: number
}

/** SMF and UPF: sessions with addresses. */
export interface Sessions {
  /** Undefined when the pool is exhausted. */
  create(imsi: string, apn: ApnSubscription): Session | undefined
  of(imsi: string): Session | undefined
  list(): readonly Session[]
  remove(imsi: string): void
  /** How many sessions were made and deleted so far. */
  readonly created: number
  readonly deleted: number
}

/** TS 24.301 §9.3.2: the first EPS bearer identity. */
const FIRST_EBI = 5

/** No sessions yet. */
export function sessionTable(pool: AddressPool = addressPool()): Sessions {
  const sessions = new Map<string, Session>()
  let created = 0
  let deleted = 0
  return {
    create: (imsi, { name, type, qci, ipv4, ipv6 }) => {
      const lease = pool.take(type, { ipv4, ipv6 })
      if (lease === undefined) return undefined
      created += 1
      const ids = { imsi, apn: name, ebi: FIRST_EBI, qci, lease, teid: created }
      const session = { ...ids, upBytes: 0, downBytes: 0 }
      sessions.set(imsi, session)
      return session
    },
    of: (imsi) => sessions.get(imsi),
    list: () => [...sessions.values()],
    remove: (imsi) => {
      const session = sessions.get(imsi)
      if (session === undefined) return
      sessions.delete(imsi)
      pool.give(session.lease)
      deleted += 1
    },
    get created() {
      return created
    },
    get deleted() {
      return deleted
    },
  }
}
