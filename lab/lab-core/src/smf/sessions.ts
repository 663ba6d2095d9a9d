import type { ApnSubscription } from '../hss/subscription.ts'

/** Addresses of one session. */
interface Addresses {
  readonly ipv4: string | undefined
  readonly ipv6: string | undefined
}

/** Addresses that are taken. `number` is the place in the pool. */
interface Lease extends Addresses {
  readonly number: number
}

/** UE number 1 is 10.45.0.2 and 2001:db8:cafe:1::2, as in the recordings; .0 and .1 (the gateway) go to nobody. */
const FIRST = 1
const LAST = 0xfffd

/** A pool over 10.45.0.0/16 and 2001:db8:cafe::/48: hands out addresses, the one that has been free longest first. */
function addressPool() {
  const used = new Set<number>()
  let last = FIRST - 1
  return {
    /** `type`: 1 IPv4, 2 IPv6, 3 both; fixed ones as they are. Undefined when all are in use. */
    take: (type: number, fixed: Addresses): Lease | undefined => {
      if (used.size >= LAST) return undefined
      do last = last >= LAST ? FIRST : last + 1
      while (used.has(last))
      used.add(last)
      return {
        number: last,
        ipv4: type === 2 ? undefined : (fixed.ipv4 ?? ipv4Of(last)),
        ipv6: type === 1 ? undefined : (fixed.ipv6 ?? ipv6Of(last)),
      }
    },
    give: ({ number }: Lease): void => {
      used.delete(number)
    },
  }
}

function ipv4Of(number: number): string {
  const host = number + 1
  return `10.45.${host >> 8}.${host & 0xff}`
}

function ipv6Of(number: number): string {
  return `2001:db8:cafe:${number.toString(16)}::${(number + 1).toString(16)}`
}

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

export function sessionTable(): Sessions {
  const pool = addressPool()
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
