import type { Clock, Imsi, Technology } from '@steeple/contracts'
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

/** Connected base stations, and of which technology they are; of both, the later one counts. */
export interface RadioCount {
  readonly count: number
  readonly technology: Technology | undefined
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
  readonly urlOf: (daemon: Daemon) => string
}

/** The longest walk, ms. */
const WALK_MS = 8_000

/** Reads the lists of MME, AMF and SMF; `places` is asked at each walk. */
export function coreInfo(clock: Clock, retiring: AbortSignal, places: () => InfoPlaces): CoreInfo {
  const bounded = (signal: AbortSignal): AbortSignal =>
    AbortSignal.any([signal, AbortSignal.timeout(WALK_MS)])
  return {
    ues: sharedWalk(clock, retiring, (signal) => walkUes(places(), bounded(signal))),
    sessions: sharedWalk(clock, retiring, (signal) => walkSessions(places(), bounded(signal))),
    radios: sharedWalk(clock, retiring, (signal) => walkRadios(places(), bounded(signal))),
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
    const { entries, pages } = await entriesOf(
      { daemon, base: urlOf(daemon), path: '/ue-info' },
      ueOf,
      signal,
    )
    isPaged ||= pages > 1
    for (const entry of entries) {
      const held = ues.get(entry.imsi)
      // Listed twice, by a move between pages or by both daemons: the one that is on counts.
      if (held === undefined || (entry.isRegistered && !held.isRegistered)) ues.set(entry.imsi, entry)
    }
  }
  return { ues, isPaged }
}

async function walkSessions({ urlOf }: InfoPlaces, signal: AbortSignal): Promise<ReadonlySet<Imsi>> {
  const list = { daemon: 'smf', base: urlOf('smf'), path: '/pdu-info' }
  const { entries } = await entriesOf(list, smfPdu, signal)
  return new Set(entries.filter(({ sessions }) => sessions > 0).map(({ imsi }) => imsi))
}

async function walkRadios({ generations, urlOf }: InfoPlaces, signal: AbortSignal): Promise<RadioCount> {
  let radios: RadioCount = { count: 0, technology: undefined }
  for (const generation of generations) {
    const { daemon, radios: path, radioOf, technology } = LISTS[generation]
    const { entries } = await entriesOf<RadioEntry>({ daemon, base: urlOf(daemon), path }, radioOf, signal)
    // The same one can be there twice, until its lost association has timed out.
    const { size } = new Set(entries.filter(({ isSetUp }) => isSetUp).map(({ id }) => id))
    if (size > 0) radios = { count: radios.count + size, technology }
  }
  return radios
}

async function entriesOf<Entry>(
  list: InfoList,
  read: (item: unknown) => Entry | undefined,
  signal: AbortSignal,
): Promise<{ readonly entries: readonly Entry[]; readonly pages: number }> {
  const entries: Entry[] = []
  let pages = 0
  for await (const items of pagesOf(list, signal)) {
    pages += 1
    for (const item of items) {
      const entry = read(item)
      if (entry !== undefined) entries.push(entry)
    }
  }
  return { entries, pages }
}
