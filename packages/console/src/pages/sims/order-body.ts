/** What SIMs are ordered. All as it is typed. */
export interface Order {
  readonly count: string
  readonly label: string
  readonly profile: string
  /** Empty: all of the policy. */
  readonly apns: readonly string[]
  /** A length of time; `date`: until `date`. */
  readonly life: string
  readonly date: string
  /** Mbit/s, as typed. */
  readonly down: string
  readonly up: string
  readonly msisdn: string
  /** What plugins add, as the service takes it; undefined: what was said before is taken back. */
  readonly more: Readonly<Record<string, unknown>>
}

/** Nothing said: the service's own defaults. */
export const EMPTY_ORDER: Order = {
  count: '1',
  label: '',
  profile: '',
  apns: [],
  life: '',
  date: '',
  down: '',
  up: '',
  msisdn: '',
  more: {},
}

/** The same as routes that issue take it, `POST /v1/sims` for one. */
export interface OrderBody {
  readonly count?: number
  readonly label?: string
  readonly profile?: string
  readonly apns?: readonly string[]
  readonly expires_in?: string
  readonly expires_at?: string
  readonly ambr?: { readonly downlink_bps: number; readonly uplink_bps: number }
  readonly msisdn?: string
}

const MEGA = 1_000_000
/** Of the other direction when only one is said; what the service itself gives. */
const DEFAULT_BPS = 1_000_000_000

/** The order as the service takes it. */
export function orderBody(order: Order): OrderBody {
  const { count, label, profile, apns, life, date, msisdn } = order
  return {
    count: Number(count),
    ...(label.trim() === '' ? {} : { label: label.trim() }),
    ...(profile.trim() === '' ? {} : { profile: profile.trim() }),
    ...(apns.length === 0 ? {} : { apns }),
    ...(life === '' ? {} : life === 'date' ? { expires_at: endOf(date) } : { expires_in: life }),
    ...(order.down === '' && order.up === '' ? {} : { ambr: ambrOf(order) }),
    // Of several none can have it: its field is closed then, whatever was typed into it before.
    ...(msisdn.trim() === '' || count !== '1' ? {} : { msisdn: msisdn.replaceAll(/\D/g, '') }),
    ...order.more,
  }
}

function ambrOf({ down, up }: Order): { downlink_bps: number; uplink_bps: number } {
  const bps = (typed: string): number => (typed === '' ? DEFAULT_BPS : Math.round(numberOf(typed) * MEGA))
  return { downlink_bps: bps(down), uplink_bps: bps(up) }
}

/** A number as people type it, with a comma or a point. */
export function numberOf(typed: string): number {
  return Number(typed.replace(',', '.'))
}

/** The end of a day in the reader's zone. */
function endOf(date: string): string {
  return new Date(`${date}T23:59:59`).toISOString()
}
