import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Imsi } from '@steeple/contracts'
import { type ListedCore, listedCore } from '@steeple/lab-core'

/** A phone with one session, as MME or AMF and the SMF list it: lists of their own, since they can disagree. */
export interface Phone {
  readonly imsi: Imsi
  readonly technology: 'lte' | 'nr'
  readonly sessions: readonly Session[]
}

export interface Session {
  readonly id: number
  readonly apn: string
  readonly ipv4?: string
  readonly ipv6?: string
}

type Item = Record<string, unknown>
type Daemon = 'mme' | 'amf' | 'smf'

/** A core that is nothing but its lists, served page by page from what is in them at that moment. */
export interface CollectedCore extends ListedCore<Daemon> {
  readonly lists: Record<Daemon, Item[]>
  /** How `/pdu-info` of an SMF of 2.7.6 and the others answer. */
  release: '2.8.0' | '2.7.6'
  attach(phone: Phone): void
  /** Takes it out of the SMF, and leaves it with MME or AMF as gone. */
  detach(imsi: Imsi): void
}

const PATHS: Readonly<Record<Daemon, string>> = { mme: '/ue-info', amf: '/ue-info', smf: '/pdu-info' }
const LOCATED_US = 1_795_175_304_512_720

export async function collectedCore(): Promise<CollectedCore> {
  const served = await listedCore(['mme', 'amf', 'smf'], {
    list: (name, path) => (path === PATHS[name] && core.release !== '2.7.6' ? core.lists[name] : undefined),
  })
  const core: CollectedCore = Object.assign(served, {
    lists: { mme: [], amf: [], smf: [] },
    release: '2.8.0' as const,
    attach: (phone: Phone) => {
      core.lists[phone.technology === 'lte' ? 'mme' : 'amf'].push(ueItem(phone))
      core.lists.smf.push(pduItem(phone))
    },
    detach: (imsi: Imsi) => {
      const { lists } = core
      lists.smf = lists.smf.filter(({ supi }) => supi !== `imsi-${imsi}`)
      for (const item of [...lists.mme, ...lists.amf]) {
        if (item.supi !== imsi && item.supi !== `imsi-${imsi}`) continue
        Object.assign(item, { mm_state: 'deregistered', cm_state: 'idle', pdn: [], pdu_sessions: [] })
      }
    },
  })
  return core
}

/** Its entry in `/ue-info` of MME or AMF, with the fields and values of 2.8.0. */
export function ueItem({ imsi, technology, sessions }: Phone): Item {
  if (technology === 'lte')
    return {
      supi: imsi,
      domain: 'EPS',
      rat: 'E-UTRA',
      cm_state: 'connected',
      mm_state: 'registered',
      enb: { ostream_id: 1, mme_ue_ngap_id: 1, ran_ue_ngap_id: 1, enb_id: 348_004, cell_id: 17_275_823 },
      location: { tai: { plmn: '99970', tac_hex: '0001', tac: 1 }, timestamp: LOCATED_US },
      ambr: { downlink: 1_000_000_000, uplink: 1_000_000_000 },
      pdn: sessions.map(({ id, apn }) => ({
        apn,
        qos_flows: [{ ebi: id }],
        qci: 9,
        ebi: id,
        bearer_count: 1,
        pdu_state: 'active',
      })),
      pdn_count: sessions.length,
    }
  return {
    supi: `imsi-${imsi}`,
    cm_state: 'connected',
    mm_state: 'registered',
    gnb: { ostream_id: 1, amf_ue_ngap_id: 3, ran_ue_ngap_id: 1, gnb_id: 16, cell_id: 1 },
    location: {
      timestamp: LOCATED_US,
      nr_tai: { plmn: '99970', tac_hex: '000001', tac: 1 },
      nr_cgi: { plmn: '99970', nci: 262_145, gnb_id: 16, cell_id: 1 },
    },
    pdu_sessions: sessions.map(({ id, apn }) => ({ psi: id, dnn: apn, snssai: { sst: 1, sd: 'ffffff' } })),
    pdu_sessions_count: sessions.length,
  }
}

function pduItem({ imsi, technology, sessions }: Phone): Item {
  const isLte = technology === 'lte'
  return {
    supi: `imsi-${imsi}`,
    pdu: sessions.map(({ id, apn, ipv4, ipv6 }) => ({
      ...(isLte ? { ebi: id, apn } : { psi: id, dnn: apn }),
      ...(ipv4 === undefined ? {} : { ipv4 }),
      ...(ipv6 === undefined ? {} : { ipv6 }),
      snssai: isLte ? { sst: 0, sd: '000000' } : { sst: 1, sd: 'ffffff' },
      pdu_state: isLte ? 'unknown' : 'active',
    })),
    ue_activity: isLte ? 'unknown' : 'active',
  }
}

/** The entries of a list as a real core printed it. */
export function recordedItems(name: string): Item[] {
  const text = readFileSync(join(import.meta.dirname, '..', '..', 'fixtures', name), 'utf8')
  return (JSON.parse(text) as { items: Item[] }).items // a recording
}

/** Phone number `n`: another IMSI, address and prefix each. */
export function phone(n: number, technology: 'lte' | 'nr' = 'lte'): Phone & { readonly sessions: [Session] } {
  const imsi = `99970${String(n).padStart(10, '0')}` as Imsi // 15 digits
  const ipv4 = `10.45.${(n >> 8) & 255}.${n & 255}`
  const ipv6 = `2001:db8:cafe:${(n + 1).toString(16)}::2`
  return { imsi, technology, sessions: [{ id: 5, apn: 'internet', ipv4, ipv6 }] }
}
