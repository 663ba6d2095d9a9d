import type { LabClock } from '../clock.ts'
import { type Doc, textOf } from '../store/ejson.ts'
import type { Change, Subscribers } from '../store/subscribers.ts'
import type { Hss, S6aCounts } from './hss.ts'
import { HssAbort, type Subscription, subscriptionOf } from './subscription.ts'

/** Requests that an HSS sends an MME by itself. TS 29.272 §5.2.1.2, §5.2.2.1. */
export interface HssRequests {
  /** CLR, subscription withdrawn, re-attach required. */
  cancelLocation(imsi: string): void
  /** IDR. */
  insertSubscriberData(imsi: string, subscription: Subscription): void
}

/** How often Open5GS' HSS looks at its change stream, ms. */
const POLL_MS = 100
const IDR_FIELDS =
  /^(ambr|slice|subscriber_status|operator_determined_barring|access_restriction_data|network_access_mode|subscribed_rau_tau_timer)/

/**
 * Acts on changes of documents as Open5GS' HSS with `use_mongodb_change_stream` does, until `signal` aborts: a cancel
 * request wins over all else, a removal is nothing, and nothing is sent for whom no MME serves.
 */
export async function watchChanges(watch: {
  readonly subscribers: Subscribers
  readonly requests: HssRequests
  readonly hss: Pick<Hss, 'abort'>
  readonly counts: Pick<S6aCounts, 'clr' | 'idr'>
  readonly clock: LabClock
  readonly signal: AbortSignal
}): Promise<void> {
  const { subscribers, hss, clock, signal } = watch
  let waiting: Change[] = []
  let wake = Promise.withResolvers<void>()
  subscribers.watch((change) => {
    waiting.push(change)
    wake.resolve()
  })
  signal.addEventListener('abort', () => wake.resolve(), { once: true })
  while (!signal.aborted) {
    await wake.promise
    wake = Promise.withResolvers()
    await clock.sleep(POLL_MS, signal).catch(() => undefined)
    if (signal.aborted) return
    const batch = waiting
    waiting = []
    try {
      for (const change of batch) act(change, watch)
    } catch (error) {
      // What else has changed it does not hear of: it starts at the present.
      if (!(error instanceof HssAbort)) throw error
      hss.abort(error)
    }
  }
}

function act(
  { imsi, updated, doc }: Change,
  { requests, counts }: { readonly requests: HssRequests; readonly counts: Pick<S6aCounts, 'clr' | 'idr'> },
): void {
  if (imsi === undefined || doc === undefined || !isServed(doc)) return
  if (updated.has('request_cancel_location') && doc.request_cancel_location === true) {
    counts.clr += 1
    requests.cancelLocation(imsi)
    return
  }
  if (doc.purge_flag === true || ![...updated].some((field) => IDR_FIELDS.test(field))) return
  const subscription = subscriptionOf(doc)
  if (subscription === undefined) return
  counts.idr += 1
  requests.insertSubscriberData(imsi, subscription)
}

function isServed(doc: Doc): boolean {
  return textOf(doc.mme_host) !== undefined
}
