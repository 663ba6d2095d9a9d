import type { Imsi, Technology } from '@steeple/contracts'
import { parseImsi } from '@steeple/telecom'
import { recordOf } from './pages.ts'

/**
 * The value of a gauge without labels in a page of metrics, undefined when it is not there.
 *
 * Source: Prometheus text exposition format 0.0.4.
 */
export function gaugeIn(page: string, name: string): number | undefined {
  for (const line of page.split('\n')) {
    if (!line.startsWith(`${name} `)) continue
    const value = Number(line.slice(name.length + 1).split(' ')[0])
    return Number.isFinite(value) ? value : undefined
  }
  return undefined
}

/** A phone as MME or AMF lists it. */
export interface UeEntry {
  readonly imsi: Imsi
  readonly technology: Technology
  /** The daemon's own word; undefined before 2.8.0. */
  readonly state: string | undefined
  /** Registered, and in LTE with a connection to a data network: it has one unless it is just being cut. */
  readonly isRegistered: boolean
  /** Registered and without a connection in LTE: cancelled, and the phone has not answered yet. */
  readonly isCut: boolean
  readonly isConnected: boolean | undefined
  /** Network (MCC and MNC) of the cell where it was last; undefined when the core does not say. */
  readonly plmn: string | undefined
  /** E-UTRA or NR cell identity within that network, of the cell where it was last; undefined when the core does not say. */
  readonly cell: number | undefined
  readonly connections: readonly Connection[]
  readonly apns: readonly string[]
}

/** A PDN connection or PDU session as MME or AMF list it. */
export interface Connection {
  /** The lowest EPS bearer identity, or the PDU session identity; undefined while it has none. */
  readonly id: number | undefined
  readonly apn: string | undefined
}

/** An eNB or gNB. */
export interface RadioEntry {
  /** Its network and number: an association that was lost and one that replaced it have the same. */
  readonly id: string
  /** Networks (MCC and MNC) that it broadcasts; empty when the core does not say. */
  readonly plmns: readonly string[]
  readonly isSetUp: boolean
  /** Its number without the network. */
  readonly number: number
  /** Where its association comes from. */
  readonly address: string | undefined
}

/** A phone has few sessions; a list beyond this is cut. */
const SESSIONS_MAX = 16
/** Tracking areas of a base station, TS 36.413 §9.1.8.4 and TS 38.413 §9.2.6.1. */
const AREAS_MAX = 256
/** TS 23.003 §9.1: 100 octets at most. */
const APN = /^[\x21-\x7e]{1,100}$/
/** E-UTRA cell identities have 28 bits, those of NR 36 (TS 36.413 §9.2.1.38, TS 38.413 §9.3.1.7). */
const CELL_MAX = 2 ** 36 - 1

/**
 * An entry of the MME's `/ue-info`; undefined for one without an IMSI.
 *
 * It stays in the list after a detach and even when it was refused; `mm_state` tells, which 2.7.7 does not have: there
 * whoever has a connection is registered. After a cancel from the HSS it says `registered` without a connection.
 */
export function mmeUe(item: unknown): UeEntry | undefined {
  const { supi, mm_state, cm_state, pdn, location, enb } = recordOf(item)
  const imsi = imsiOf(supi)
  if (imsi === undefined) return undefined
  const connections = connectionsIn(pdn)
  const isRegistered = (mm_state === undefined || mm_state === 'registered') && connections.length > 0
  const isCut = mm_state === 'registered' && connections.length === 0
  return {
    imsi,
    technology: 'lte',
    state: wordIn(mm_state),
    isRegistered,
    isCut,
    isConnected: connected(cm_state),
    plmn: plmnOf(recordOf(recordOf(location).tai).plmn),
    cell: cellIn(recordOf(enb).cell_id),
    connections,
    apns: namesOf(connections),
  }
}

/** An entry of the AMF's `/ue-info`; undefined for one without an IMSI. In 5G a phone can be registered without a session. */
export function amfUe(item: unknown): UeEntry | undefined {
  const { supi, mm_state, cm_state, pdu_sessions, location } = recordOf(item)
  const imsi = imsiOf(supi)
  if (imsi === undefined) return undefined
  const connections = connectionsIn(pdu_sessions)
  const isRegistered = mm_state === undefined ? connections.length > 0 : mm_state === 'registered'
  const { nr_tai, nr_cgi } = recordOf(location)
  return {
    imsi,
    technology: 'nr',
    state: wordIn(mm_state),
    isRegistered,
    isCut: false,
    isConnected: connected(cm_state),
    plmn: plmnOf(recordOf(nr_tai).plmn),
    cell: cellIn(recordOf(nr_cgi).nci),
    connections,
    apns: namesOf(connections),
  }
}

/** An entry of the MME's `/enb-info`. */
export function enb(item: unknown): RadioEntry | undefined {
  const { enb_id, plmn, s1, supported_ta_list } = recordOf(item)
  return radio({ plmn, number: enb_id, setup: s1, areas: supported_ta_list })
}

/** An entry of the AMF's `/gnb-info`. */
export function gnb(item: unknown): RadioEntry | undefined {
  const { gnb_id, plmn, ng, supported_ta_list } = recordOf(item)
  return radio({ plmn, number: gnb_id, setup: ng, areas: supported_ta_list })
}

function radio({
  plmn,
  number,
  setup,
  areas,
}: Readonly<Record<'plmn' | 'number' | 'setup' | 'areas', unknown>>): RadioEntry | undefined {
  if (typeof number !== 'number') return undefined
  const { setup_success, sctp } = recordOf(setup)
  return {
    id: `${plmnOf(plmn) ?? 'unknown'}-${number}`,
    plmns: broadcastOf(areas, plmn),
    isSetUp: setup_success === true,
    number,
    address: PEER.exec(String(recordOf(sctp).peer))?.[1],
  }
}

/** An address as the daemons print it, with its port behind it. */
const PEER = /^\[([0-9a-fA-F:.]{2,45})\]:[0-9]+$/

/** The networks of its tracking areas (LTE: one each, NR: a list); its own when there are none. */
function broadcastOf(areas: unknown, own: unknown): readonly string[] {
  const said = (Array.isArray(areas) ? areas.slice(0, AREAS_MAX) : []).flatMap((area) => {
    const { plmn, bplmns } = recordOf(area)
    const inList = listOf(bplmns).map((one) => recordOf(one).plmn)
    return [plmn, ...inList].flatMap((one) => plmnOf(one) ?? [])
  })
  return said.length > 0 ? [...new Set(said)] : [plmnOf(own) ?? []].flat()
}

/** MCC and MNC in digits, as the core prints them: 5 or 6. */
function plmnOf(value: unknown): string | undefined {
  return typeof value === 'string' && /^[0-9]{5,6}$/.test(value) ? value : undefined
}

/** MME writes digits, AMF and SMF `imsi-` and digits. */
export function imsiOf(supi: unknown): Imsi | undefined {
  return typeof supi === 'string' ? parseImsi(supi.replace(/^imsi-/, '')) : undefined
}

/** A state as the daemons name them; nothing else gets on. */
function wordIn(state: unknown): string | undefined {
  return typeof state === 'string' && /^[a-z_]{1,40}$/.test(state) ? state : undefined
}

function connected(state: unknown): boolean | undefined {
  if (state === 'connected') return true
  return state === 'idle' ? false : undefined
}

/** 0 is what the core has where no cell was said. */
function cellIn(value: unknown): number | undefined {
  const cell = numberIn(value)
  return cell === undefined || cell === 0 || cell > CELL_MAX ? undefined : cell
}

/** A whole number from 0 on. */
export function numberIn(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value.slice(0, SESSIONS_MAX) : []
}

/** LTE calls the network `apn` and the identity `ebi`, NR `dnn` and `psi`. */
function connectionsIn(value: unknown): readonly Connection[] {
  return listOf(value).map((one) => {
    const { apn, dnn, ebi, psi } = recordOf(one)
    return { id: numberIn(ebi ?? psi), apn: apnIn(apn ?? dnn) }
  })
}

function namesOf(connections: readonly Connection[]): readonly string[] {
  return [...new Set(connections.flatMap(({ apn }) => apn ?? []))]
}

/** Whatever the core calls a network, as long as it can be shown. */
export function apnIn(value: unknown): string | undefined {
  return typeof value === 'string' && APN.test(value) ? value : undefined
}
