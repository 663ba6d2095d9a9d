import { type Clock, type Imsi, southboundUnavailable, type Technology } from '@steeple/contracts'
import { amfUe, enb, gnb, mmeUe, type RadioEntry, smfPdu, type UeEntry } from '../info/entries.ts'
import { type InfoList, pagesOf } from '../info/pages.ts'
import { type SharedWalk, sharedWalk } from '../info/shared-walk.ts'
import type { Daemon, Generation } from '../render/roles.ts'

/** Every phone that MME and AMF list, by IMSI. In memory only. */
export interface UeList {
  readonly ues: ReadonlyMap<Imsi, UeEntry>
  /** Entries may have moved from one page to another meanwhile, and one may be missing. */
  readonly isPaged: boolean
}

/** Connected base stations of this network, and of which technology they are; of both, the later one counts. */
export interface RadioCount {
  readonly count: number
  readonly technology: Technology | undefined
  /** Those that do not broadcast this network, by the first that they do (MCC and MNC). */
  readonly others: ReadonlyMap<string, number>
}

/** The lists of a core, asked by the info API. Every call throws `southbound_unavailable`. */
export interface CoreInfo {
  readonly ues: SharedWalk<UeList>
  /** Phones with sessions in the SMF. */
  readonly sessions: SharedWalk<ReadonlySet<Imsi>>
  readonly radios: SharedWalk<RadioCount>
}

/** Where the lists are. */
export interface InfoPlaces {
  readonly generations: readonly Generation[]
  /** This node's network, MCC and MNC in digits. */
  readonly plmn: string
  readonly urlOf: (daemon: Daemon) => string
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
  const bounded =
    <T>(walk: (at: InfoPlaces, signal: AbortSignal) => Promise<T>) =>
    async (signal: AbortSignal): Promise<T> => {
      const limit = AbortSignal.timeout(limitMs)
      try {
        return await walk(places(), AbortSignal.any([signal, limit]))
      } catch (error) {
        signal.throwIfAborted()
        if (!limit.aborted) throw error
        throw southboundUnavailable(
          `the lists of the core cannot be read: they take longer than ${limitMs} ms`,
        )
      }
    }
  return {
    ues: sharedWalk(clock, retiring, bounded(walkUes)),
    sessions: sharedWalk(clock, retiring, bounded(walkSessions)),
    radios: sharedWalk(clock, retiring, bounded(walkRadios)),
  }
}

const LISTS = {
  epc: { daemon: 'mme', radios: '/enb-info', ueOf: mmeUe, radioOf: enb, technology: 'lte' },
  '5gc': { daemon: 'amf', radios: '/gnb-info', ueOf: amfUe, radioOf: gnb, technology: 'nr' },
} as const

async function walkUes({ generations, urlOf }: InfoPlaces, signal: AbortSignal): Promise<UeList> {
  const ues = new Map<Imsi, UeEntry>()
  let isPaged = false
  for (const generation of generations) {
    const { daemon, ueOf } = LISTS[generation]
    const list = { daemon, base: urlOf(daemon), path: '/ue-info' }
    const pages = await eachEntry<UeEntry>(list, ueOf, signal, (entry) => {
      const held = ues.get(entry.imsi)
      // Listed twice, by a move between pages or by both daemons: the one that is on counts.
      if (held === undefined || (entry.isRegistered && !held.isRegistered)) ues.set(entry.imsi, entry)
    })
    isPaged ||= pages > 1
  }
  return { ues, isPaged }
}

async function walkSessions({ urlOf }: InfoPlaces, signal: AbortSignal): Promise<ReadonlySet<Imsi>> {
  const list = { daemon: 'smf', base: urlOf('smf'), path: '/pdu-info' }
  const imsis = new Set<Imsi>()
  await eachEntry(list, smfPdu, signal, ({ imsi, sessions }) => {
    if (sessions > 0) imsis.add(imsi)
  })
  return imsis
}

async function walkRadios(
  { generations, urlOf, plmn: own }: InfoPlaces,
  signal: AbortSignal,
): Promise<RadioCount> {
  let count = 0
  let last: Technology | undefined
  const others = new Map<string, number>()
  for (const generation of generations) {
    const { daemon, radios: path, radioOf, technology } = LISTS[generation]
    // The same one can be there twice, until its lost association has timed out.
    const radios = new Map<string, RadioEntry>()
    await eachEntry<RadioEntry>({ daemon, base: urlOf(daemon), path }, radioOf, signal, (entry) => {
      if (entry.isSetUp) radios.set(entry.id, entry)
    })
    for (const { plmns } of radios.values()) {
      const [first] = plmns
      if (first === undefined || plmns.includes(own)) {
        count += 1
        last = technology
      } else others.set(first, (others.get(first) ?? 0) + 1)
    }
  }
  return { count, technology: last, others }
}

/** Hands each entry on as its page comes: a long list is not held twice. Gives the number of pages. */
async function eachEntry<Entry>(
  list: InfoList,
  read: (item: unknown) => Entry | undefined,
  signal: AbortSignal,
  take: (entry: Entry) => void,
): Promise<number> {
  let pages = 0
  for await (const items of pagesOf(list, signal)) {
    pages += 1
    for (const item of items) {
      const entry = read(item)
      if (entry !== undefined) take(entry)
    }
  }
  return pages
}
