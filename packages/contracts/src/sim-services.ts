import type { Imsi, ImsiHash, Subscriber } from './drivers.ts'
import { type JsonSchema, NODE_ID_SCHEMA } from './json-schema.ts'
import type { Context } from './plugin.ts'
import type { Principal } from './roles.ts'
import { type ServiceRef, serviceRef } from './service-ref.ts'
import type { TimeSpan } from './service-shapes.ts'
import type { MutationTx } from './store.ts'

/** States of a SIM; `revoked` is terminal. */
export type SubscriberState = 'issued' | 'in-use' | 'suspended' | 'expired' | 'revoked'
/** Why others than an operator suspend a SIM. */
export type SuspensionReason = 'quota' | 'policy'
/** A subscriber as other plugins see it: no IMSI, no key. Times are ms since the epoch. */
export interface SubscriberView {
  readonly imsi: ImsiHash
  readonly state: SubscriberState
  readonly suspendReason: 'operator' | SuspensionReason | undefined
  /** `999-99` */
  readonly plmn: string
  readonly profile: string
  readonly apns: readonly string[]
  readonly quotaBytes: number | undefined
  /** A lower rate than its AMBR, in both directions; undefined while its AMBR holds. */
  readonly capBps: number | undefined
  /**
   * How far its rates are. `pending`: the HSS is to be told. `next_session`: the HSS holds them, and a session that runs
   * may have those of before.
   */
  readonly rates: 'pending' | 'next_session' | 'in_force'
  readonly expiresAtMs: number
  /** When it was first seen in the core. */
  readonly firstAttachAtMs: number | undefined
}
/** A SIM that a search has found. */
export interface SimFound {
  readonly imsi: ImsiHash
  readonly label: string | undefined
  readonly state: SubscriberState
  /** The last four digits of its card's number. */
  readonly iccidEnd: string | undefined
}
/** One move of one SIM; `from` is undefined for a new one. */
export interface SubscriberMove {
  readonly imsi: ImsiHash
  readonly from: SubscriberState | undefined
  readonly to: SubscriberState
}
/** What has happened since a cursor. */
export interface SubscriberMoves {
  /** Ask on from here. */
  readonly cursor: string
  /** In the order of their commits. */
  readonly moves: readonly SubscriberMove[]
  /** Some were missed (the first call, a restart, a long pause): look at every subscriber that matters. */
  readonly isGap: boolean
}
/** The subscribers of this node. Cuts follow by themselves: blocked in the HSS, then kicked off the core. */
export interface Subscribers {
  /** Throws `store_corrupt`. */
  find(imsi: ImsiHash): Promise<SubscriberView | undefined>
  /** The labels of those that have one, by hash. */
  labels(imsis: readonly ImsiHash[]): Promise<ReadonlyMap<ImsiHash, string>>
  /** How many are in each state; every state is there. */
  counts(): Promise<ReadonlyMap<SubscriberState, number>>
  /**
   * That SIMs have numbers of another network than this one (`999-99`), so that their phones do not get on, with what to do
   * about it; undefined when none has.
   */
  misfits?(plmn: string): Promise<string | undefined>
  /** How many subscribers the core has that are of no SIM here; undefined while that is not known. */
  foreign?(): number | undefined
  /** How many have changes that the HSS does not have yet; with another driver of it, how many that one has to write. */
  backlog?(driver?: string): Promise<number>
  /** At most `limit`, newest first, as `q` of the list of SIMs finds them. Throws `validation_failed`. */
  search?(q: string, limit: number): Promise<readonly SimFound[]>
  /** The one whose phone attached last. */
  lastAttached(): Promise<SubscriberView | undefined>
  /**
   * Suspends in a mutation of its own, audited as `sim.suspend` under `by`. One that is suspended already, for whatever
   * reason, stays as it is. Throws `sim_not_found`, `sim_state_conflict`.
   */
  suspend(imsi: ImsiHash, reason: SuspensionReason, by: Principal): Promise<SubscriberView>
  /** Lifts a suspension for that reason and no other, audited as `sim.resume` under `by`. Throws as `suspend`. */
  resume(imsi: ImsiHash, reason: SuspensionReason, by: Principal): Promise<SubscriberView>
  /** As `suspend`, in the caller's mutation, whose audit entry should say so. */
  suspendIn(tx: MutationTx, imsi: ImsiHash, reason: SuspensionReason): Promise<SubscriberView>
  /** As `resume`, in the caller's mutation. */
  resumeIn(tx: MutationTx, imsi: ImsiHash, reason: SuspensionReason): Promise<SubscriberView>
  /** Gives a subscriber another quota, or none, in the caller's mutation. Throws `sim_not_found`, `sim_state_conflict`. */
  setQuotaIn(tx: MutationTx, imsi: ImsiHash, quotaBytes: number | undefined): Promise<SubscriberView>
  /**
   * Holds a subscriber to a lower rate than its AMBR, in both directions, or lets its AMBR hold again; in the caller's
   * mutation. Cores give a session its rates when it begins: `kick` ends the one that runs, so that the phone comes back
   * with the new ones, `wait` leaves it. Throws `sim_not_found`.
   */
  capIn(
    tx: MutationTx,
    imsi: ImsiHash,
    capBps: number | undefined,
    running: 'kick' | 'wait',
  ): Promise<SubscriberView>
  /** At most `limit` subscribers that have a quota and are not revoked, with a hash behind `after`, by hash. */
  withQuota(
    after: string,
    limit: number,
  ): Promise<readonly { readonly imsi: ImsiHash; readonly quotaBytes: number }[]>
  /**
   * The moves since a cursor, at once when there are any, otherwise when the next one is durable. Without a cursor:
   * where to begin. Rejects with the reason of the signal.
   */
  moves(since: string | undefined, signal: AbortSignal): Promise<SubscriberMoves>
}
export const subscribersRef: ServiceRef<Subscribers> = serviceRef<Subscribers>('sims.subscribers', {
  find: 'function',
  labels: 'function',
  counts: 'function',
  misfits: 'function?',
  foreign: 'function?',
  backlog: 'function?',
  search: 'function?',
  lastAttached: 'function',
  suspend: 'function',
  resume: 'function',
  suspendIn: 'function',
  resumeIn: 'function',
  setQuotaIn: 'function',
  capIn: 'function',
  withQuota: 'function',
  moves: 'function',
})

const HASH = /^[0-9a-f]{12}$/

/** The labels of those subjects (of events, audit entries, alerts) that are SIMs and have one. */
export async function simLabels(
  context: Pick<Context, 'maybe'>,
  subjects: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  // What looks like a hash may be none: then no SIM has it.
  const hashes = [...new Set(subjects)].filter((one) => HASH.test(one)) as ImsiHash[]
  if (hashes.length === 0) return new Map()
  return (await context.maybe(subscribersRef)?.labels(hashes)) ?? new Map()
}

/** What a profile holds of one SIM, in the clear: only for an HSS, a card writer or an eSIM profile. */
export interface SimCredentials {
  readonly imsi: Imsi
  /** ASCII digits with the check digit; empty when the SIM has none. */
  readonly iccid: Uint8Array
  /** 16 octets each. */
  readonly ki: Uint8Array
  readonly opc: Uint8Array
  /** ASCII digits, empty when not known. */
  readonly adm1: Uint8Array
  readonly pin1: Uint8Array
  readonly puk1: Uint8Array
  readonly pin2: Uint8Array
  readonly puk2: Uint8Array
  /** Overwrites all of them: call it as soon as they are used. */
  wipe(): void
}
/** What may be told of a SIM's card: no IMSI, no key. */
export interface SimCard {
  readonly imsi: ImsiHash
  readonly state: SubscriberState
  readonly label: string | undefined
  /** The batch or import that it came with. */
  readonly batchId: string | undefined
  /** Undefined for a SIM without an ICCID. */
  readonly iccidLast4: string | undefined
}
/** SIMs that are drawn and sealed in memory; nothing of them is in the store yet. */
export interface PreparedSims {
  readonly cards: readonly SimCard[]
  readonly batchId: string
  /** The credentials of one of them. Throws `sim_not_found`. */
  credentials(imsi: ImsiHash): SimCredentials
  /**
   * Makes them durable in the caller's mutation, with what `POST /v1/sims` would audit as its detail. Each is told of as an
   * event `sim.issue` beside the caller's own. Once.
   */
  issueIn(tx: MutationTx): Promise<{ readonly detail: Readonly<Record<string, unknown>> }>
}
/** A public key of the home network, which phones conceal the IMSI with. TS 33.501 annex C. */
export interface HomeNetworkKey {
  /** Its identifier, of one octet. */
  readonly id: number
  /** Protection scheme: A is 1, B is 2. */
  readonly scheme: number
  /** X25519, or a point of P-256, compressed. */
  readonly publicKey: Uint8Array
}
/** One SIM as it was when it was read, with what is sealed of it, which is opened when it is asked for. */
export interface OpenableSim {
  readonly view: SubscriberView
  /** Telephone number, digits without a plus; absent for a SIM without one. */
  readonly msisdn?: string | undefined
  /** ASCII digits with the check digit, empty when it has none; the caller's own. Throws `store_corrupt`. */
  iccid(): Uint8Array
  /** Throws `store_corrupt`. */
  credentials(): SimCredentials
}
/** Issues SIMs for whoever puts them somewhere else than on a card, and opens what is sealed. */
export interface SimIssuer {
  /** JSON Schema of the body of `POST /v1/sims`: what `prepare` takes. */
  readonly bodySchema: JsonSchema
  /**
   * Checks a body of `POST /v1/sims` that fits `bodySchema` and draws its SIMs; counts against the limits that go with it,
   * all but `sim_issue`, which is the caller's route's. Throws as that route.
   */
  prepare(
    body: unknown,
    request: { readonly principal: Principal; take(limit: string, cost: number): Promise<void> },
  ): Promise<PreparedSims>
  /** The credentials of one SIM, whatever its state. Throws `sim_not_found`, `store_corrupt`. */
  credentials(imsi: ImsiHash): Promise<SimCredentials>
  /** One SIM in whatever state, read once for all that a delivery needs of it; undefined: there is none. Throws `store_corrupt`. */
  sim(imsi: ImsiHash): Promise<OpenableSim | undefined>
  /** The cards of those that exist, at most a hundred, in no order. */
  cards(imsis: readonly ImsiHash[]): Promise<readonly SimCard[]>
  /** At most `limit` cards of a batch or an import, with a hash behind `after`, by hash. */
  batch(batchId: string, after: string, limit: number): Promise<readonly SimCard[]>
  /** The card with that ICCID (digits with the check digit), unless its SIM is revoked. */
  byIccid(iccid: string): Promise<SimCard | undefined>
  /** The home network keys whose private halves the core has: what cards and profiles conceal the IMSI with. Absent: none. */
  homeNetworkKeys?(): Promise<readonly HomeNetworkKey[]>
  /** Ends a SIM for good, in the caller's mutation, whose audit entry should say so. Throws `sim_not_found`. */
  revokeIn(tx: MutationTx, imsi: ImsiHash): Promise<void>
}
export const simIssuerRef: ServiceRef<SimIssuer> = serviceRef<SimIssuer>('sims.issuer', {
  bodySchema: 'object',
  prepare: 'function',
  credentials: 'function',
  sim: 'function',
  cards: 'function',
  batch: 'function',
  byIccid: 'function',
  homeNetworkKeys: 'function?',
  revokeIn: 'function',
})

/** What an HSS should hold of a SIM, without opening it. */
export interface SimWanted {
  readonly imsi: ImsiHash
  readonly wanted: 'open' | 'blocked' | 'absent'
  /** Grows with each change that an HSS must hear of. */
  readonly generation: number
  readonly issuedAtMs: number
}
/** A time in which the phone of a SIM was on a box that is not the SIM's home. Times are ms since the epoch. */
export interface SimStay {
  /** Names it with the box that has served. */
  readonly id: string
  readonly imsi: ImsiHash
  readonly servedBy: { readonly nodeId: string; readonly name: string }
  readonly home: { readonly nodeId: string; readonly name: string }
  readonly beganAtMs: number
  /** When the phone was seen last. */
  readonly seenAtMs: number
  /** Whether it has ended. */
  readonly isOver: boolean
}
/** SIMs of other nodes that this one serves. */
export interface Visitors {
  /** Those among these. */
  among(imsis: readonly string[]): Promise<ReadonlySet<string>>
  /** How many the HSS holds or is about to. */
  count(): Promise<number>
  /**
   * Stays here of SIMs of others, and elsewhere of SIMs of this node, that reach into a span, at most `limit`, behind that one, the
   * oldest first. Throws `store_corrupt`.
   */
  stays(span: TimeSpan, after: SimStay | undefined, limit: number): Promise<readonly SimStay[]>
}
/** Provided by roaming. */
export const visitorsRef: ServiceRef<Visitors> = serviceRef<Visitors>('roaming.visitors', {
  among: 'function',
  count: 'function',
  stays: 'function',
})
/** Where a SIM works besides its home, as a body of a request says it: on each permitted node, those that are named, or where its phone comes. */
export interface ReachWish {
  readonly reach: 'home' | 'mesh' | 'boxes' | 'on_demand'
  /** Node ids, with `boxes`. */
  readonly boxes?: readonly string[]
}
/** JSON Schema of the fields of a `ReachWish`, for bodies. */
export const REACH_FIELDS: { readonly reach: JsonSchema; readonly boxes: JsonSchema } = {
  reach: {
    type: 'string',
    enum: ['home', 'mesh', 'boxes', 'on_demand'],
    description:
      'home: on this box. mesh: on each permitted box, ahead of time. boxes: on those that are named. on_demand: on each permitted box where its phone comes.',
  },
  boxes: {
    type: 'array',
    items: NODE_ID_SCHEMA,
    uniqueItems: true,
    maxItems: 31,
    description: 'Node ids, with the reach boxes.',
  },
}
/** Where SIMs work. */
export interface ReachKeeper {
  /** Throws `validation_failed`, and `node_state_conflict` where no other node can serve a SIM of this one. */
  check(wish: ReachWish): void
  /** Chooses it in the caller's mutation, whose audit entry should say so. */
  chooseIn(tx: MutationTx, imsis: readonly ImsiHash[], wish: ReachWish): Promise<void>
  /** Gives a SIM what was chosen for another one, if anything was. */
  copyIn(tx: MutationTx, from: ImsiHash, to: ImsiHash): Promise<void>
}
/** Provided by roaming. */
export const reachKeeperRef: ServiceRef<ReachKeeper> = serviceRef<ReachKeeper>('roaming.reach', {
  check: 'function',
  chooseIn: 'function',
  copyIn: 'function',
})
/** SIMs for an HSS that is not this node's own. */
export interface SimProvisioning {
  /** At most `limit` behind `after`, by hash. */
  list(after: string, limit: number): Promise<readonly SimWanted[]>
  /** Those among these, in no order. */
  among(imsis: readonly ImsiHash[]): Promise<readonly SimWanted[]>
  /** As the HSS of this node is to hold it; the caller zeroes its keys. Undefined: there is none. Throws `store_corrupt`. */
  subscriber(imsi: ImsiHash): Promise<Subscriber | undefined>
}
/** Provided by sims. */
export const simProvisioningRef: ServiceRef<SimProvisioning> = serviceRef<SimProvisioning>(
  'sims.provisioning',
  { list: 'function', among: 'function', subscriber: 'function' },
)
