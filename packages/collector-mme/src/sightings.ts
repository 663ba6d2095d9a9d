import type { SessionSighting, Technology } from '@steeple/contracts'
import type { Connection, CoreLook, PduSession, SessionList, UeEntry, UeList } from '@steeple/southbound'
import { imsiHash } from '@steeple/telecom'

/** What MME, AMF and SMF say together. */
export interface Seen {
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
export function sightingsIn({ ues, sessions }: CoreLook, seenAtMs: number): Seen {
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
  const place = placeOf(ue, seenAtMs)
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
  const place = placeOf(ue, seenAtMs)
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

type Place = Pick<SessionSighting, 'imsi' | 'plmn' | 'technology' | 'cell' | 'startedAtMs' | 'seenAtMs'>

/** The core does not say when a session began. */
function placeOf({ imsi, technology, plmn: digits, cell }: UeEntry, seenAtMs: number): Place {
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
function referenceOf({ imsi, technology }: Place, apn: string, address: string): string {
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
