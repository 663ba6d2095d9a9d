import type { Imsi, Technology } from '@steeple/contracts'
import { parseImsi } from '@steeple/telecom'
import { recordOf } from './pages.ts'

/** A phone as MME or AMF lists it. */
export interface UeEntry {
  readonly imsi: Imsi
  readonly technology: Technology
  /** Registered, and in LTE with a connection to a data network: it has one unless it is just being cut. */
  readonly isRegistered: boolean
  /** Registered and without a connection in LTE: cancelled, and the phone has not answered yet. */
  readonly isCut: boolean
  readonly isConnected: boolean | undefined
  /** Network (MCC and MNC) of the cell where it was last; undefined when the core does not say. */
  readonly plmn: string | undefined
  readonly apns: readonly string[]
}

/** An eNB or gNB. */
export interface RadioEntry {
  /** Its network and number: an association that was lost and one that replaced it have the same. */
  readonly id: string
  /** Networks (MCC and MNC) that it broadcasts; empty when the core does not say. */
  readonly plmns: readonly string[]
  readonly isSetUp: boolean
}

/** Sessions of a phone as the SMF lists them. */
export interface PduEntry {
  readonly imsi: Imsi
  readonly sessions: number
}

/** A phone has few sessions; a list beyond this is cut. */
const SESSIONS_MAX = 16
/** Tracking areas of a base station, TS 36.413 §9.1.8.4 and TS 38.413 §9.2.6.1. */
const AREAS_MAX = 256
const APN_LENGTH_MAX = 100

/**
 * An entry of the MME's `/ue-info`; undefined for one without an IMSI.
 *
 * It stays in the list after a detach and even when it was refused; `mm_state` tells, which 2.7.7 does not have: there
 * whoever has a connection is registered. After a cancel from the HSS it says `registered` without a connection.
 */
export function mmeUe(item: unknown): UeEntry | undefined {
  const { supi, mm_state, cm_state, pdn, location } = recordOf(item)
  const imsi = imsiOf(supi)
  if (imsi === undefined) return undefined
  const list = listOf(pdn)
  const isRegistered = (mm_state === undefined || mm_state === 'registered') && list.length > 0
  const isCut = mm_state === 'registered' && list.length === 0
  return {
    imsi,
    technology: 'lte',
    isRegistered,
    isCut,
    isConnected: connected(cm_state),
    plmn: plmnOf(recordOf(recordOf(location).tai).plmn),
    apns: namesIn(list),
  }
}

/** An entry of the AMF's `/ue-info`; undefined for one without an IMSI. In 5G a phone can be registered without a session. */
export function amfUe(item: unknown): UeEntry | undefined {
  const { supi, mm_state, cm_state, pdu_sessions, location } = recordOf(item)
  const imsi = imsiOf(supi)
  if (imsi === undefined) return undefined
  const list = listOf(pdu_sessions)
  const isRegistered = mm_state === undefined ? list.length > 0 : mm_state === 'registered'
  return {
    imsi,
    technology: 'nr',
    isRegistered,
    isCut: false,
    isConnected: connected(cm_state),
    plmn: plmnOf(recordOf(recordOf(location).nr_tai).plmn),
    apns: namesIn(list),
  }
}

/** An entry of the SMF's `/pdu-info`. */
export function smfPdu(item: unknown): PduEntry | undefined {
  const { supi, pdu } = recordOf(item)
  const imsi = imsiOf(supi)
  return imsi === undefined ? undefined : { imsi, sessions: listOf(pdu).length }
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
  return {
    id: `${plmnOf(plmn) ?? 'unknown'}-${number}`,
    plmns: broadcastOf(areas, plmn),
    isSetUp: recordOf(setup).setup_success === true,
  }
}

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
function imsiOf(supi: unknown): Imsi | undefined {
  return typeof supi === 'string' ? parseImsi(supi.replace(/^imsi-/, '')) : undefined
}

function connected(state: unknown): boolean | undefined {
  if (state === 'connected') return true
  return state === 'idle' ? false : undefined
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value.slice(0, SESSIONS_MAX) : []
}

/** LTE calls it `apn`, NR `dnn`. */
function namesIn(sessions: readonly unknown[]): readonly string[] {
  const names = new Set<string>()
  for (const session of sessions) {
    const { apn, dnn } = recordOf(session)
    const name = apn ?? dnn
    if (typeof name === 'string' && name !== '' && name.length <= APN_LENGTH_MAX) names.add(name)
  }
  return [...names]
}
