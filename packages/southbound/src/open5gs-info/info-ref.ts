import { isIPv4, isIPv6 } from 'node:net'
import {
  type Clock,
  type Imsi,
  type ServiceRef,
  serviceRef,
  southboundUnavailable,
  type Technology,
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
import { joinedWalk, takeUe, type UeList, type UesByImsi, type UeWalk } from './joined-walk.ts'
import { type InfoList, type ListEnds, pagesOf, recordOf } from './pages.ts'
import { type SharedWalk, sharedWalk, type Walked } from './shared-walk.ts'

/** `epc`: LTE. `5gc`: NR standalone. */
export type Generation = 'epc' | '5gc'

/** The daemons with lists. */
type InfoDaemon = 'mme' | 'amf' | 'smf'

/** The sessions that the SMF lists; a phone that is listed has at least one. */
export type SessionList = ReadonlyMap<Imsi, readonly PduSession[]>

/** Connected base stations of this network, and of which technology they are; of both, the later one counts. */
interface RadioCount {
  readonly count: number
  readonly technology: Technology | undefined
  /** Those that do not broadcast this network, by the first that they do (MCC and MNC). */
  readonly others: ReadonlyMap<string, number>
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

/** Where the lists are. */
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
  const lists = await Promise.allSettled(
    generations.map(async (generation) => {
      const { daemon, radios: path, radioOf, technology } = LISTS[generation]
      // The same one can be there twice, until its lost association has timed out.
      const radios = new Map<string, RadioEntry>()
      const list = { daemon, base: urlOf(daemon), path }
      await eachEntry<RadioEntry>({ list, ends, signal }, radioOf, (entry) => {
        if (entry.isSetUp) radios.set(entry.id, entry)
      })
      return { radios, technology }
    }),
  )
  for (const { radios, technology } of lists.flatMap((list) =>
    list.status === 'fulfilled' ? [list.value] : [],
  )) {
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
  return { count, technology: last, others }
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

/** The sessions of a phone. */
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
