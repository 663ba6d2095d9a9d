import { type Doc, docOf, docsOf, int32Of, textOf, type Value } from '../store/ejson.ts'

/** What an MME is told of a subscriber. TS 29.272 §7.3.2. */
export interface Subscription {
  /** bit/s. */
  readonly ambr: Ambr
  readonly apns: readonly ApnSubscription[]
}

/** UE-AMBR, bit/s. */
export interface Ambr {
  readonly downlink: number
  readonly uplink: number
}

/** One APN; the first of a subscription is its default. */
export interface ApnSubscription {
  readonly name: string
  /** 1 IPv4, 2 IPv6, 3 both. */
  readonly type: number
  readonly qci: number
  /** Fixed addresses; drawn from the pool when absent. */
  readonly ipv4: string | undefined
  readonly ipv6: string | undefined
}

/** AVPs of AMBR are Unsigned32. TS 29.272 §7.3.41. */
const AMBR_MAX = 0xffff_ffff

/**
 * The subscription of a document as Open5GS' HSS reads it: a number of another type than Int32 does not count, and a
 * subscriber without a slice that has an SST has none (experimental result 5420).
 */
export function subscriptionOf(doc: Doc): Subscription | undefined {
  const slice = docsOf(doc.slice).find(({ sst }) => int32Of(sst) !== undefined)
  if (slice === undefined) return undefined
  return {
    ambr: ambrOf(doc.ambr),
    apns: docsOf(slice.session)
      .map(apnOf)
      .filter((apn) => apn !== undefined),
  }
}

/** The UE-AMBR of a document. */
export function ambrOf(value: Value | undefined): Ambr {
  const ambr = docOf(value)
  return { downlink: rateOf(ambr?.downlink), uplink: rateOf(ambr?.uplink) }
}

function apnOf(session: Doc): ApnSubscription | undefined {
  const name = textOf(session.name)
  if (name === undefined) return undefined
  const ue = docOf(session.ue)
  return {
    name,
    type: int32Of(session.type) ?? 3,
    qci: int32Of(docOf(session.qos)?.index) ?? 9,
    ipv4: textOf(ue?.ipv4),
    ipv6: textOf(ue?.ipv6),
  }
}

function rateOf(value: Value | undefined): number {
  const rate = docOf(value)
  const count = int32Of(rate?.value)
  return count === undefined ? 0 : Math.min(count * 1000 ** (int32Of(rate?.unit) ?? 0), AMBR_MAX)
}
