import {
  type Collector,
  type Context,
  collectorRef,
  countText,
  type Instance,
  NOTHING_COLLECTED,
  type Plugin,
  type SessionSighting,
  type Settings,
  sectionOf,
  southboundUnavailable,
  type Technology,
} from '@steeple/contracts'
import {
  type Connection,
  type CoreLook,
  coreInfo,
  type Generation,
  type InfoPlaces,
  listAgeMs,
  type Open5gsInfo,
  open5gsInfo,
  open5gsInfoRef,
  type PduSession,
  pagesOf,
  type SessionList,
  type UeEntry,
  type UeList,
} from '@steeple/southbound'
import { imsiHash, safeText } from '@steeple/telecom'

/** What MME, AMF and SMF say together. */
interface LastLook {
  readonly sightings: readonly SessionSighting[]
  /** Connections of MME or AMF that the SMF does not have: attached, and no data. */
  readonly withoutSession: number
  /** Sessions of the SMF whose phone MME or AMF has forgotten, or lists without them. */
  readonly withoutPhone: number
}

/** States in which a phone is not attached, whatever is still listed with it; before 2.8.0 they are not told. */
const GONE: ReadonlySet<string | undefined> = new Set(['deregistered', 'exception', 'ue_context_will_remove'])

/** Hexadecimal digits of a cell identity: TS 29.571 §5.4.2, EutraCellId and NrCellId. */
const CELL_DIGITS: Readonly<Record<Technology, number>> = { lte: 7, nr: 9 }

/**
 * The live sessions in a look at a core.
 *
 * A session lives while the SMF has it and MME or AMF list it with its phone: the SMF keeps those of an MME that has
 * restarted, and the MME those of an SMF. A phone that is just identified anew (`authentication`, …) still has its own, so
 * whoever shows up under its identity ends nothing here. Where the SMF is not asked the lists of MME and AMF count.
 */
export function sightingsIn({ ues, sessions }: CoreLook, seenAtMs: number): LastLook {
  const all = [...ues.value.by.lte.values(), ...ues.value.by.nr.values()].filter(isThere)
  if (sessions === undefined) {
    const sightings = all.flatMap((ue) => ue.connections.flatMap((one) => bareSighting(ue, one, seenAtMs)))
    return { sightings, withoutSession: 0, withoutPhone: 0 }
  }
  let held = 0
  const sightings: SessionSighting[] = []
  for (const ue of all) {
    const own = (sessions.value.get(ue.imsi) ?? []).filter((session) => isHeld(ue, session))
    held += own.length
    for (const session of own) sightings.push(sightingOf(ue, session, seenAtMs))
  }
  const connections = all.reduce((sum, ue) => sum + ue.connections.length, 0)
  return {
    sightings,
    withoutSession: Math.max(0, connections - held),
    withoutPhone: sizeOf(sessions.value, ues.value.problems) - held,
  }
}

function isThere({ state, connections }: UeEntry): boolean {
  return !GONE.has(state) && connections.length > 0
}

/**
 * Whether MME or AMF list the session. By its network or its bearer: the lowest bearer that the MME names need not be that
 * of the session's beginning, and an APN may come in another case.
 */
function isHeld({ technology, connections }: UeEntry, session: PduSession): boolean {
  if (session.technology !== technology) return false
  const apn = session.apn.toLowerCase()
  return connections.some((one) => one.id === session.id || one.apn?.toLowerCase() === apn)
}

function sightingOf(ue: UeEntry, session: PduSession, seenAtMs: number): SessionSighting {
  const { apn, ipv4, ipv6, id } = session
  const prefix = ipv6 === undefined ? undefined : prefix64Of(ipv6)
  const isUp = session.isActive ?? ue.isConnected
  const place = locationOf(ue, seenAtMs)
  return {
    ...place,
    apn,
    address: ipv4,
    prefix,
    state: isUp === false ? 'idle' : 'active',
    reference: referenceOf(place, apn, ipv4 ?? prefix ?? `${id}`),
  }
}

/** All that MME or AMF know of a session. */
function bareSighting(ue: UeEntry, { id, apn }: Connection, seenAtMs: number): readonly SessionSighting[] {
  if (apn === undefined) return []
  const place = locationOf(ue, seenAtMs)
  return [
    {
      ...place,
      apn,
      address: undefined,
      prefix: undefined,
      state: ue.isConnected === false ? 'idle' : 'active',
      reference: referenceOf(place, apn, `${id}`),
    },
  ]
}

type CellLocation = Pick<
  SessionSighting,
  'imsi' | 'plmn' | 'technology' | 'cell' | 'startedAtMs' | 'seenAtMs'
>

/** The core does not say when a session began. */
function locationOf({ imsi, technology, plmn: digits, cell }: UeEntry, seenAtMs: number): CellLocation {
  const plmn = digits === undefined ? undefined : `${digits.slice(0, 3)}-${digits.slice(3)}`
  const hex = cell?.toString(16).padStart(CELL_DIGITS[technology], '0')
  return {
    imsi: imsiHash(imsi),
    plmn,
    technology,
    cell: plmn === undefined || hex === undefined ? undefined : `${plmn}-${hex}`,
    startedAtMs: undefined,
    seenAtMs,
  }
}

/** The core has no name of its own for a session: the address is what no other one has meanwhile. */
function referenceOf({ imsi, technology }: CellLocation, apn: string, address: string): string {
  return `${technology}/${imsi}/${apn}/${address}`
}

/** Those of a technology whose phones could not be seen are no odd ones. */
function sizeOf(sessions: SessionList, unseen: UeList['problems']): number {
  let count = 0
  for (const list of sessions.values())
    count += list.filter(({ technology }) => !unseen.has(technology)).length
  return count
}

/** The /64 of an IPv6 address, in the form of RFC 5952. */
export function prefix64Of(address: string): string {
  const groups = expanded(address.includes('.') ? canonical(address) : address)
  return `${canonical(`${groups.slice(0, 4).join(':')}::`)}/64`
}

/** The URL parser writes an address in lower case, with the longest run of zeros as `::` and no dots (URL Standard §4.4). */
function canonical(address: string): string {
  return new URL(`http://[${address}]/`).hostname.slice(1, -1)
}

function expanded(text: string): readonly string[] {
  const [head = '', tail] = text.split('::')
  const left = head === '' ? [] : head.split(':')
  if (tail === undefined) return left
  const right = tail === '' ? [] : tail.split(':')
  return [...left, ...Array<string>(8 - left.length - right.length).fill('0'), ...right]
}

interface Begun {
  readonly technology: Technology
  readonly startedAtMs: number | undefined
}

/** A look says of what was not in the one before when it began only if that one was not longer ago, ms. */
const BETWEEN_MS = 5 * 60_000

/**
 * The core does not say when a session began. One that the look before did not show has begun since; of those that were
 * there at the first look, or came while none worked, nothing is known. So a session that has the address of an earlier one,
 * and with it its reference, can be told from it.
 */
function sessionStarts() {
  let known = new Map<string, Begun>()
  let lookedAtMs: number | undefined
  return {
    /** The sightings of a look, whole but for the unseen technologies, with the times at which their sessions began. */
    noted: (
      sightings: readonly SessionSighting[],
      seenAtMs: number,
      unseen: readonly Technology[],
    ): readonly SessionSighting[] => {
      const isClose = lookedAtMs !== undefined && seenAtMs - lookedAtMs <= BETWEEN_MS
      const begunMs = isClose ? seenAtMs : undefined
      const isUnseen = ([, { technology }]: [string, Begun]): boolean => unseen.includes(technology)
      const now = new Map<string, Begun>([...known].filter(isUnseen))
      const all = sightings.map((sighting) => {
        const { reference, technology } = sighting
        const begun = known.get(reference) ?? { technology, startedAtMs: begunMs }
        now.set(reference, begun)
        return { ...sighting, startedAtMs: begun.startedAtMs }
      })
      known = now
      lookedAtMs = seenAtMs
      return all
    },
  }
}

/**
 * Sees the sessions of an Open5GS core. It looks with the walks of the core's driver, which are there for the driver's own
 * sake; with another core driver it asks MME, SMF and AMF where the configuration says they are.
 */
export function mmeCollector(context: Context): Collector {
  const { clock, retiring } = context
  const said = teller(context)
  const places = infoPlaces(context.settings)
  const starts = sessionStarts()
  let own: Open5gsInfo | undefined
  let wasSeen = false
  let detail = 'not asked yet'
  /** Why one of MME and AMF cannot be asked, while the other can. */
  let missing = ''
  const ownInfo = (): Open5gsInfo => {
    own ??= open5gsInfo(
      coreInfo(clock, retiring, () => places),
      places.hasSmf,
    )
    return own
  }
  return {
    source: 'mme',
    poll: async (_position, signal) => {
      signal.throwIfAborted()
      const driver = context.maybe(open5gsInfoRef)
      // Without addresses of sessions those of before would seem to have ended.
      if (driver === undefined && context.settings.core === 'core_a')
        throw southboundUnavailable(
          'driver-core-a is not loaded, which knows where the daemons are: load it (svc plugin load driver-core-a)',
        )
      if (driver === undefined && places.generations.length === 0) {
        detail = 'no core to ask: neither its driver nor collector.mme_url or collector.amf_url names one'
        return NOTHING_COLLECTED
      }
      try {
        const look = await (driver ?? ownInfo()).look(listAgeMs(context.settings), signal)
        const { beganMs } = look.sessions ?? look.ues
        const seenAtMs = Math.round(clock.nowMs() - (clock.monotonicMs() - beganMs))
        const seen = sightingsIn(look, seenAtMs)
        const { problems } = look.ues.value
        const unseen = [...problems.keys()]
        wasSeen = true
        missing = [...problems.values()].map(safeText).join('; ')
        detail = said(seen)
        const sightings = starts.noted(seen.sightings, seenAtMs, unseen)
        return { ...NOTHING_COLLECTED, sightings, isWhole: true, unseen }
      } catch (error) {
        signal.throwIfAborted()
        missing = ''
        // Beside a core of another make nobody said that there is an Open5GS: one that was never there is not ill.
        if (wasSeen || driver !== undefined) throw error
        detail = `no Open5GS answers, and none was seen since the start (${safeText(error)})`
        return NOTHING_COLLECTED
      }
    },
    health: () =>
      missing === ''
        ? { status: 'ok', detail }
        : { status: 'degraded', detail: `${detail}; the sessions of the other are as they were: ${missing}` },
  }
}

/** Words for what was seen, and its odd ones as a metric. */
function teller({ metrics }: Context): (seen: LastLook) => string {
  const mismatches = metrics.gauge(
    'svc_collector_mme_mismatches',
    'Differences in the core: connections of phones that the SMF lacks, and sessions of the SMF for phones that MME and AMF do not list.',
    ['kind'],
  )
  return ({ sightings, withoutSession, withoutPhone }) => {
    mismatches.set(withoutSession, { kind: 'phone_without_session' })
    mismatches.set(withoutPhone, { kind: 'session_without_phone' })
    const odd = [
      ...(withoutSession === 0 ? [] : [`${countText(withoutSession, 'connection')} that the SMF has not`]),
      ...(withoutPhone === 0
        ? []
        : [`${countText(withoutPhone, 'session')} of phones that are not attached any more`]),
    ]
    return [countText(sightings.length, 'session'), ...odd].join(', ')
  }
}

/** Where the lists of a core are that has no driver of its own here. */
interface ConfiguredPlaces extends InfoPlaces {
  readonly hasSmf: boolean
}

/** The places as the configuration names them. */
function infoPlaces({ collector, plmn }: Settings): ConfiguredPlaces {
  const urls = { mme: collector.mme_url, amf: collector.amf_url, smf: collector.smf_url }
  const generations: readonly Generation[] = [
    ...(urls.mme === '' ? [] : (['epc'] as const)),
    ...(urls.amf === '' ? [] : (['5gc'] as const)),
  ]
  return {
    generations,
    plmn: `${plmn.mcc}${plmn.mnc}`,
    urlOf: (daemon) => urls[daemon].replace(/\/+$/, ''),
    hasSmf: urls.smf !== '',
  }
}

/** Sees the sessions of an Open5GS core, for whoever polls collectors. */
export const plugin: Plugin = {
  // The pages of the daemons that it reads, but for those of which the core's driver says where they are.
  doctor: ({ settings }) => {
    const { collector, core } = settings
    if (!collector.enabled || core !== 'core_a') return []
    const told = sectionOf(settings, 'core_a')
    const own = (key: 'mme_url' | 'smf_url' | 'amf_url'): string => (told[key] ? '' : collector[key])
    return pagesOf({ mme: own('mme_url'), smf: own('smf_url'), amf: own('amf_url') }, 'collector')
  },
  setup: async (context: Context): Promise<Instance> => ({
    services: new Map([[collectorRef(context.plugin.id).id, mmeCollector(context)]]),
  }),
}
