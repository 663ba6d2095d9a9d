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
  /** 1 IPv4, 2 IPv6, 3 both; 0 when the document has none: the MME takes none of the APNs then. */
  readonly type: number
  readonly qci: number
  /** Fixed addresses; drawn from the pool when absent. */
  readonly ipv4: string | undefined
  readonly ipv6: string | undefined
}

/** A document at which Open5GS' HSS ends itself (an assertion of its reader), 2.8.0 seen to do so. */
export class HssAbort extends Error {}

/** `OGS_MAX_NUM_OF_SESS`: one more in a slice, and the HSS ends. */
const SESSIONS_MAX = 4

/** AVPs of AMBR are Unsigned32. TS 29.272 §7.3.41. */
const AMBR_MAX = 0xffff_ffff

/**
 * The subscription of a document as Open5GS' HSS reads it: a number of another type than Int32 does not count, and a
 * subscriber without a slice that has an SST has none (experimental result 5420). Throws `HssAbort`.
 */
export function subscriptionOf(doc: Doc): Subscription | undefined {
  const slice = docsOf(doc.slice).find(({ sst }) => int32Of(sst) !== undefined)
  if (slice === undefined) return undefined
  const sessions = docsOf(slice.session)
  if (sessions.length > SESSIONS_MAX)
    throw new HssAbort(
      "ogs_dbi_subscription_data: Assertion `slice_data->num_of_session < OGS_MAX_NUM_OF_SESS' failed.",
    )
  return { ambr: ambrOf(doc.ambr), apns: sessions.map(apnOf) }
}

function ambrOf(value: Value | undefined): Ambr {
  const ambr = docOf(value)
  return { downlink: rateOf(ambr?.downlink), uplink: rateOf(ambr?.uplink) }
}

function apnOf(session: Doc): ApnSubscription {
  const name = textOf(session.name)
  if (name === undefined) throw new HssAbort("hss_ogs_diam_s6a_ulr_cb: Assertion `session->name' failed.")
  const ue = docOf(session.ue)
  return {
    name,
    type: int32Of(session.type) ?? 0,
    qci: int32Of(docOf(session.qos)?.index) ?? 0,
    ipv4: textOf(ue?.ipv4),
    ipv6: textOf(ue?.ipv6),
  }
}

function rateOf(value: Value | undefined): number {
  const rate = docOf(value)
  const count = int32Of(rate?.value)
  return count === undefined ? 0 : Math.min(count * 1000 ** (int32Of(rate?.unit) ?? 0), AMBR_MAX)
}
