import { randomBytes } from 'node:crypto'
import { type MilenageKeys, opcFrom } from '@steeple/telecom'
import type { LabClock } from '../clock.ts'
import type { DaemonLog } from '../info/daemon-log.ts'
import { type Doc, docOf, int64, int64Of, textOf, type Value } from '../store/ejson.ts'
import type { Change, Subscribers } from '../store/subscribers.ts'
import { HssAbort, type Subscription, subscriptionOf } from './subscription.ts'
import { type AuthVector, authVector, type Resync, resyncedSqn, SQN_MAX } from './vector.ts'

/** What went over S6a since the start, by message. */
export interface S6aCounts {
  air: number
  aia: number
  airErrors: number
  ulr: number
  ula: number
  ulrErrors: number
  clr: number
  idr: number
  /** Subscribers that an MME serves. */
  imsis: number
}

export function noS6aCounts(): S6aCounts {
  return { air: 0, aia: 0, airErrors: 0, ulr: 0, ula: 0, ulrErrors: 0, clr: 0, idr: 0, imsis: 0 }
}

/** A view that is taken anew every `everyUs`, as the HSS does with its statistics; empty before the first. */
export function delayedCounts(counts: S6aCounts, nowUs: () => number, everyUs: number): () => S6aCounts {
  let seen = noS6aCounts()
  let takenUs = nowUs()
  return () => {
    if (nowUs() - takenUs >= everyUs) {
      takenUs = nowUs()
      seen = { ...counts }
    }
    return seen
  }
}

/** Result codes of S6a that an MME tells apart. TS 29.272 §7.4.3. */
export type S6aError = 'user_unknown' | 'unknown_eps_subscription' | 'unable_to_deliver'

/** Who serves a subscriber, as an Update-Location-Request says. */
interface ServingMme {
  readonly host: string
  readonly realm: string
  readonly imeisv: string
}

/** The HSS as an MME sees it over S6a. */
export interface Hss {
  /** It ends at a document, and is started again after a while: nobody is answered until then. */
  abort(why: HssAbort): void
  /** AIR: a vector, with the SQN of the document moved on. */
  authentication(imsi: string, resync: Resync | undefined): Promise<AuthVector | S6aError>
  /** ULR: the subscription, with the serving MME written into the document. */
  updateLocation(imsi: string, mme: ServingMme): Promise<Subscription | S6aError>
}

/** What systemd waits before it starts an HSS again, µs. */
const RESTART_US = 2_000_000

/** One step of the SQN: 5 bits of IND. */
const SQN_STEP = 32n

/** The HSS over a collection. Counts what it is asked. */
export function hssOver(
  subscribers: Subscribers,
  clock: LabClock,
  counts: S6aCounts,
  log: DaemonLog = () => undefined,
): Hss {
  const served = new Set<string>()
  let backAtUs = 0
  const isAway = (): boolean => clock.nowUs() < backAtUs
  const abort = (why: HssAbort): void => {
    log('FATAL', why.message)
    backAtUs = clock.nowUs() + RESTART_US
  }
  const authentication: Hss['authentication'] = async (imsi, resync) => {
    const security = docOf(subscribers.find(imsi)?.security)
    const keys = security === undefined ? undefined : keysOf(security)
    if (security === undefined || keys === undefined) return 'user_unknown'
    const held = int64Of(security.sqn)
    // A SQN of another type than Int64 cannot be counted up: every authentication fails.
    if (held === undefined && security.sqn !== undefined) return 'user_unknown'
    const sqn = resync === undefined ? (held ?? 0n) : sqnAfter(resyncedSqn(keys, resync))
    if (sqn === undefined) return 'user_unknown'
    await subscribers.update(imsi, (doc) => withSqn(doc, (sqn + SQN_STEP) & SQN_MAX))
    const amf = Buffer.from(textOf(security.amf) ?? '8000', 'hex')
    return authVector(keys, amf, sqn, randOf(security.rand))
  }
  const updateLocation: Hss['updateLocation'] = async (imsi, { host, realm, imeisv }) => {
    const doc = subscribers.find(imsi)
    if (doc === undefined) return 'user_unknown'
    await subscribers.update(imsi, (old) => ({
      ...old,
      imeisv,
      mme_host: host,
      mme_realm: realm,
      mme_timestamp: int64(BigInt(clock.nowUs())),
      purge_flag: false,
    }))
    counts.imsis = served.add(imsi).size
    try {
      return subscriptionOf(doc) ?? 'unknown_eps_subscription'
    } catch (error) {
      if (!(error instanceof HssAbort)) throw error
      abort(error)
      return 'unable_to_deliver'
    }
  }
  return {
    abort,
    authentication: async (imsi, resync) => {
      if (isAway()) return 'unable_to_deliver'
      counts.air += 1
      const answer = await authentication(imsi, resync)
      if (typeof answer === 'string') counts.airErrors += 1
      else counts.aia += 1
      return answer
    },
    updateLocation: async (imsi, mme) => {
      if (isAway()) return 'unable_to_deliver'
      counts.ulr += 1
      const answer = await updateLocation(imsi, mme)
      if (typeof answer === 'string') counts.ulrErrors += 1
      else counts.ula += 1
      return answer
    },
  }
}

/** TS 33.102 annex C.3.4: the next SQN after the one that the phone holds, with another IND. */
function sqnAfter(sqn: bigint | undefined): bigint | undefined {
  return sqn === undefined ? undefined : (sqn + SQN_STEP + 1n) & SQN_MAX
}

function withSqn(doc: Doc, sqn: bigint): Doc {
  return { ...doc, security: { ...docOf(doc.security), sqn: int64(sqn) } }
}

function keysOf(security: Doc): MilenageKeys | undefined {
  const k = keyOf(security.k)
  const [opc, op] = [keyOf(security.opc), keyOf(security.op)]
  if (k === undefined) return undefined
  if (opc !== undefined) return { k, opc }
  return op === undefined ? undefined : { k, opc: opcFrom(k, op) }
}

function keyOf(value: Value | undefined): Uint8Array | undefined {
  const text = textOf(value)
  return text !== undefined && /^[0-9a-f]{32}$/i.test(text) ? Buffer.from(text, 'hex') : undefined
}

function randOf(value: Value | undefined): Uint8Array {
  return keyOf(value) ?? randomBytes(16)
}

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
