import { isIPv4, isIPv6 } from 'node:net'
import {
  type Clock,
  type Imsi,
  type ServiceRef,
  serviceRef,
  southboundUnavailable,
  type Technology,
  untilAborted,
} from '@steeple/contracts'
import {
  amfUe,
  apnIn,
  enb,
  gnb,
  imsiOf,
  listOf,
  mmeUe,
  numberIn,
  type RadioEntry,
  type UeEntry,
} from './entries.ts'
import { type InfoList, type ListEnds, pagesOf, recordOf } from './pages.ts'

/** What a walk found, and when it began and ended (monotonic ms). */
export interface Walked<T> {
  readonly value: T
  readonly beganMs: number
  readonly endedMs: number
}

/** One walk for all who want it. */
export interface SharedWalk<T> {
  /**
   * A walk that began at most `ageMs` ago, else a new one. After one that took long, also an older one: no more than a
   * fifth of the time is spent on walking, and after one that failed its error,
   * likewise, and the longer the more failed one after the other.
   */
  recent(ageMs: number, signal: AbortSignal): Promise<Walked<T>>
  /** A walk that began at `sinceMs` or later; the error of one that failed a moment ago. */
  since(sinceMs: number, signal: AbortSignal): Promise<Walked<T>>
  /** The last one that ended well, if it ended at most `ageMs` ago. */
  last(ageMs: number): Walked<T> | undefined
}

/** So many times the length of a walk its result is good enough for who does not need it fresh. */
const REST_FACTOR = 5
/** How long a failure stands for who needs to know, and at least and at most for who only looks, ms. */
const FAILED_MS = 2_000
const FAILED_MAX_MS = 60_000
/** Each further failure doubles the rest, up to so many times that of the first. */
const GROWTH_MAX = 8

interface Failure {
  readonly error: unknown
  readonly lastedMs: number
  readonly endedMs: number
  /** What its rest is multiplied by. */
  readonly growth: number
}

/**
 * Shares walks: whoever asks while one is under way waits for it, and those for whom it began too early share the next.
 *
 * `run` gets `retiring` as its signal: one who stops waiting does not end it for the others. A failure is everybody's
 * who waited, and of those who ask within the next seconds: a core in trouble is not asked without a pause.
 */
function sharedWalk<T>(
  clock: Clock,
  retiring: AbortSignal,
  run: (signal: AbortSignal) => Promise<T>,
): SharedWalk<T> {
  let done: Walked<T> | undefined
  let failed: Failure | undefined
  let current: { readonly beganMs: number; readonly result: Promise<Walked<T>> } | undefined
  let next: Promise<Walked<T>> | undefined
  const begin = (): Promise<Walked<T>> => {
    const beganMs = clock.monotonicMs()
    const result = (async () => {
      try {
        const value = await run(retiring)
        failed = undefined
        done = { value, beganMs, endedMs: clock.monotonicMs() }
        return done
      } catch (error) {
        const endedMs = clock.monotonicMs()
        const growth = failed === undefined ? 1 : Math.min(GROWTH_MAX, 2 * failed.growth)
        failed = { error, lastedMs: endedMs - beganMs, endedMs, growth }
        throw error
      }
    })().finally(() => {
      current = undefined
    })
    current = { beganMs, result }
    return result
  }
  /** Throws the last failure while it is not older than that. */
  const refuseWithin = (restMs: number): void => {
    if (failed !== undefined && clock.monotonicMs() - failed.endedMs < restMs) throw failed.error
  }
  const following = (before: Promise<unknown>): Promise<Walked<T>> => {
    next ??= before
      .catch(() => undefined)
      .then(() => {
        next = undefined
        refuseWithin(FAILED_MS)
        return begin()
      })
    return next
  }
  const since = async (sinceMs: number, restMs: number, signal: AbortSignal): Promise<Walked<T>> => {
    signal.throwIfAborted()
    if (done !== undefined && done.beganMs >= sinceMs) return done
    if (current === undefined) {
      refuseWithin(restMs)
      return await untilAborted(next ?? begin(), signal)
    }
    return await untilAborted(current.beganMs >= sinceMs ? current.result : following(current.result), signal)
  }
  return {
    since: (sinceMs, signal) => since(sinceMs, FAILED_MS, signal),
    recent: (ageMs, signal) => {
      const lastMs = done === undefined ? 0 : done.endedMs - done.beganMs
      return since(clock.monotonicMs() - Math.max(ageMs, REST_FACTOR * lastMs), restAfter(failed), signal)
    },
    last: (ageMs) => (done !== undefined && clock.monotonicMs() - done.endedMs <= ageMs ? done : undefined),
  }
}

/** How long who only looks leaves it at a failure, ms. */
function restAfter(failed: Failure | undefined): number {
  if (failed === undefined) return 0
  return Math.min(FAILED_MAX_MS, Math.max(FAILED_MS, REST_FACTOR * failed.lastedMs * failed.growth))
}

/** The phones that one daemon lists. */
type UesByImsi = ReadonlyMap<Imsi, UeEntry>

/** Every phone that MME and AMF list, by IMSI. In memory only. */
export interface UeList {
  /** Of a phone that both list, the entry of the one where it is on. */
  readonly ues: ReadonlyMap<Imsi, UeEntry>
  readonly by: Readonly<Record<Technology, ReadonlyMap<Imsi, UeEntry>>>
  /** Why the list of one of them cannot be had, while that of the other can; nothing is known of its phones then. */
  readonly problems: ReadonlyMap<Technology, unknown>
}

/** The list of one daemon, and how it is had. */
interface UeWalk {
  readonly daemon: string
  readonly technology: Technology
  readonly walk: SharedWalk<UesByImsi>
}

/** Who failed last time is waited for so long while the other one may answer, ms. */
const GRACE_MS = 500

type How = (walk: SharedWalk<UesByImsi>) => Promise<Walked<UesByImsi>>

/**
 * The lists of MME and AMF as one. Each has its own walk, and one that fails, or hangs, takes nothing from the other: it is
 * named among the `problems`. Throws when none can be had.
 */
function joinedWalk(lists: () => readonly UeWalk[]): SharedWalk<UeList> {
  const failing = new Set<UeWalk>()
  const one = async (list: UeWalk, isAlone: boolean, how: How): Promise<Walked<UesByImsi>> => {
    const walking = how(list.walk)
    const isWaitedFor = isAlone || !failing.has(list)
    walking.then(
      () => failing.delete(list),
      () => failing.add(list),
    )
    if (isWaitedFor) return await walking
    const grace = AbortSignal.timeout(GRACE_MS)
    return await untilAborted(walking, grace).catch((error: unknown) => {
      if (!grace.aborted) throw error
      throw southboundUnavailable(`${list.daemon} cannot be asked: it does not answer`)
    })
  }
  const all = async (signal: AbortSignal, how: How): Promise<Walked<UeList>> => {
    const asked = lists()
    const results = await Promise.allSettled(
      asked.map(async (list) => ({ list, walked: await one(list, asked.length === 1, how) })),
    )
    signal.throwIfAborted()
    const found = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
    const problems = results.flatMap((result, index) => {
      const technology = asked[index]?.technology
      return result.status === 'fulfilled' || technology === undefined
        ? []
        : [[technology, result.reason] as const]
    })
    if (found.length === 0 && problems[0] !== undefined) throw problems[0][1]
    return joinedOf(found, new Map(problems))
  }
  return {
    recent: (ageMs, signal) => all(signal, (walk) => walk.recent(ageMs, signal)),
    since: (sinceMs, signal) => all(signal, (walk) => walk.since(sinceMs, signal)),
    last: (ageMs) => {
      const found = lists().flatMap((list) => {
        const walked = list.walk.last(ageMs)
        return walked === undefined ? [] : [{ list, walked }]
      })
      return found.length < lists().length ? undefined : joinedOf(found, new Map())
    },
  }
}

function joinedOf(
  found: readonly { readonly list: UeWalk; readonly walked: Walked<UesByImsi> }[],
  problems: UeList['problems'],
): Walked<UeList> {
  const by: Record<Technology, UesByImsi> = { lte: new Map(), nr: new Map() }
  for (const { list, walked } of found) by[list.technology] = walked.value
  let ues = by.lte
  if (by.nr.size > 0) {
    const both = new Map(by.lte)
    for (const entry of by.nr.values()) takeUe(both, entry)
    ues = both
  }
  return {
    value: { ues, by, problems },
    beganMs: Math.min(...found.map(({ walked }) => walked.beganMs)),
    endedMs: Math.max(...found.map(({ walked }) => walked.endedMs)),
  }
}

/** Listed twice, by a move between pages or by both daemons: the one that is on counts. */
function takeUe(ues: Map<Imsi, UeEntry>, entry: UeEntry): void {
  const held = ues.get(entry.imsi)
  if (held === undefined || (entry.isRegistered && !held.isRegistered)) ues.set(entry.imsi, entry)
}

/** `epc`: LTE. `5gc`: NR standalone. */
export type Generation = 'epc' | '5gc'

type InfoDaemon = 'mme' | 'amf' | 'smf'

/** The sessions that the SMF lists; a phone that is listed has at least one. */
export type SessionList = ReadonlyMap<Imsi, readonly PduSession[]>

/** Connected base stations of this network, and of which technology they are; of both, the later one counts. */
interface RadioCount {
  readonly count: number
  readonly technology: Technology | undefined
  /** Those that do not broadcast this network, by the first that they do (MCC and MNC). */
  readonly others: ReadonlyMap<string, number>
  /** Every association of each list that could be read, set up or not, whatever it broadcasts. */
  readonly lists: ReadonlyMap<Technology, readonly RadioEntry[]>
}

/**
 * The lists of a core, asked by the info API: whoever needs one shares its walk. Who was in a list all the while of its walk
 * is among what it gives. Every call throws `southbound_unavailable`.
 */
export interface CoreInfo {
  readonly ues: SharedWalk<UeList>
  readonly sessions: SharedWalk<SessionList>
  readonly radios: SharedWalk<RadioCount>
}

export interface InfoPlaces {
  readonly generations: readonly Generation[]
  /** This node's network, MCC and MNC in digits. */
  readonly plmn: string
  readonly urlOf: (daemon: InfoDaemon) => string
}

/** The longest walk, ms. */
const WALK_MS = 8_000

/** Reads the lists of MME, AMF and SMF; `places` is asked at each walk, and no walk is longer than `limitMs`. */
export function coreInfo(
  clock: Clock,
  retiring: AbortSignal,
  places: () => InfoPlaces,
  limitMs: number = WALK_MS,
): CoreInfo {
  const ends: ListEnds = new Map()
  const shared = <T>(
    walk: (at: InfoPlaces, ends: ListEnds, signal: AbortSignal) => Promise<T>,
  ): SharedWalk<T> =>
    sharedWalk(clock, retiring, async (signal) => {
      const limit = AbortSignal.timeout(limitMs)
      try {
        return await walk(places(), ends, AbortSignal.any([signal, limit]))
      } catch (error) {
        signal.throwIfAborted()
        if (!limit.aborted) throw error
        throw southboundUnavailable(
          `the lists of the core cannot be read: they take longer than ${limitMs} ms`,
        )
      }
    })
  const listOf = (generation: Generation): UeWalk => ({
    ...LISTS[generation],
    walk: shared((at, ends, signal) => walkUes(generation, at, ends, signal)),
  })
  const lists = { epc: listOf('epc'), '5gc': listOf('5gc') }
  const ues = joinedWalk(() => places().generations.map((generation) => lists[generation]))
  return { ues, sessions: shared(walkSessions), radios: shared(walkRadios) }
}

const LISTS = {
  epc: { daemon: 'mme', radios: '/enb-info', ueOf: mmeUe, radioOf: enb, technology: 'lte' },
  '5gc': { daemon: 'amf', radios: '/gnb-info', ueOf: amfUe, radioOf: gnb, technology: 'nr' },
} as const

async function walkUes(
  generation: Generation,
  { urlOf }: InfoPlaces,
  ends: ListEnds,
  signal: AbortSignal,
): Promise<UesByImsi> {
  const { daemon, ueOf } = LISTS[generation]
  const found = new Map<Imsi, UeEntry>()
  const list = { daemon, base: urlOf(daemon), path: '/ue-info' }
  await eachEntry<UeEntry>({ list, ends, signal }, ueOf, (entry) => takeUe(found, entry))
  return found
}

async function walkSessions(
  { urlOf }: InfoPlaces,
  ends: ListEnds,
  signal: AbortSignal,
): Promise<SessionList> {
  const list = { daemon: 'smf', base: urlOf('smf'), path: '/pdu-info' }
  const found = new Map<Imsi, readonly PduSession[]>()
  await eachEntry({ list, ends, signal }, smfPdu, ({ imsi, sessions }) => {
    if (sessions.length > 0) found.set(imsi, sessions)
  })
  return found
}

async function walkRadios(
  { generations, urlOf, plmn: own }: InfoPlaces,
  ends: ListEnds,
  signal: AbortSignal,
): Promise<RadioCount> {
  let count = 0
  let last: Technology | undefined
  const others = new Map<string, number>()
  const read = new Map<Technology, readonly RadioEntry[]>()
  const lists = await Promise.allSettled(
    generations.map(async (generation) => {
      const { daemon, radios: path, radioOf, technology } = LISTS[generation]
      // The same one can be there twice, until its lost association has timed out.
      const radios = new Map<string, RadioEntry>()
      const all: RadioEntry[] = []
      const list = { daemon, base: urlOf(daemon), path }
      await eachEntry<RadioEntry>({ list, ends, signal }, radioOf, (entry) => {
        all.push(entry)
        if (entry.isSetUp) radios.set(entry.id, entry)
      })
      return { radios, all, technology }
    }),
  )
  for (const { radios, all, technology } of lists.flatMap((list) =>
    list.status === 'fulfilled' ? [list.value] : [],
  )) {
    read.set(technology, all)
    for (const { plmns } of radios.values()) {
      const [first] = plmns
      if (first === undefined || plmns.includes(own)) {
        count += 1
        last = technology
      } else others.set(first, (others.get(first) ?? 0) + 1)
    }
  }
  const failed = lists.find((list) => list.status === 'rejected')
  // Of one daemon that has some it is known that there are some; of one that has none and one that is silent, nothing.
  if (failed !== undefined && count === 0) throw failed.reason
  return { count, technology: last, others, lists: read }
}

interface Asked {
  readonly list: InfoList
  readonly ends: ListEnds
  readonly signal: AbortSignal
}

/** Hands each entry on as its page comes: a long list is not held twice. */
async function eachEntry<Entry>(
  { list, ends, signal }: Asked,
  read: (item: unknown) => Entry | undefined,
  take: (entry: Entry) => void,
): Promise<void> {
  for await (const items of pagesOf(list, signal, ends)) {
    for (const item of items) {
      const entry = read(item)
      if (entry !== undefined) take(entry)
    }
  }
}

/** A session as the SMF lists it. */
export interface PduSession {
  readonly technology: Technology
  /** EPS bearer identity of its default bearer, or PDU session identity. 0: it has no bearer (yet, or any more). */
  readonly id: number
  readonly apn: string
  readonly ipv4: string | undefined
  /** A whole address of the phone's /64. */
  readonly ipv6: string | undefined
  /** Whether octets can flow without a service request; only known in 5G. */
  readonly isActive: boolean | undefined
}

interface PduEntry {
  readonly imsi: Imsi
  readonly sessions: readonly PduSession[]
}

/** An entry of the SMF's `/pdu-info`, of both generations; undefined for one without an IMSI. */
export function smfPdu(item: unknown): PduEntry | undefined {
  const { supi, pdu } = recordOf(item)
  const imsi = imsiOf(supi)
  if (imsi === undefined) return undefined
  return { imsi, sessions: listOf(pdu).flatMap((one) => sessionIn(recordOf(one)) ?? []) }
}

/** One of LTE can have a PDU session identity besides, for a later handover to 5G: the name of its network tells. */
function sessionIn(fields: Readonly<Record<string, unknown>>): PduSession | undefined {
  const { ebi, psi, apn, dnn, ipv4, ipv6, pdu_state } = fields
  const isNr = dnn !== undefined
  const name = apnIn(isNr ? dnn : apn)
  if (name === undefined) return undefined
  return {
    technology: isNr ? 'nr' : 'lte',
    id: numberIn(isNr ? psi : ebi) ?? 0,
    apn: name,
    ipv4: typeof ipv4 === 'string' && isIPv4(ipv4) ? ipv4 : undefined,
    // An address with a zone is one of a machine's own links, and no phone's.
    ipv6: typeof ipv6 === 'string' && isIPv6(ipv6) && !ipv6.includes('%') ? ipv6 : undefined,
    isActive: pdu_state === 'active' ? true : pdu_state === 'inactive' ? false : undefined,
  }
}

/** Phones and sessions of a core. */
export interface CoreLook {
  readonly ues: Walked<UeList>
  /** Undefined where nobody said where the SMF is. */
  readonly sessions: Walked<SessionList> | undefined
}

/** Looks at an Open5GS core. */
export interface Open5gsInfo {
  /** From walks that began at most `ageMs` ago, or that others began since; see `SharedWalk.recent`. */
  look(ageMs: number, signal: AbortSignal): Promise<CoreLook>
}

/** Provided by the driver of the core: who wants to know what the core lists asks it, and the core is asked once. */
export const open5gsInfoRef: ServiceRef<Open5gsInfo> = serviceRef<Open5gsInfo>('open5gs.info', {
  look: 'function',
})

/** Shares the walks of a core, of which the SMF can be asked or not. */
export function open5gsInfo({ ues, sessions }: CoreInfo, hasSmf: boolean = true): Open5gsInfo {
  return {
    look: async (ageMs, signal) => {
      const listed = await ues.recent(ageMs, signal)
      return { ues: listed, sessions: hasSmf ? await sessions.recent(ageMs, signal) : undefined }
    },
  }
}
