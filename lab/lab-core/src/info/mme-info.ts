import type { Mme } from '../mme/mme.ts'
import type { Enb, UeContext } from '../mme/ue-context.ts'
import type { Session } from '../smf/sessions.ts'
import type { Json } from './cjson.ts'
import type { Listing } from './page.ts'

/** `/ue-info` of an MME: every phone it has seen, gone and rejected ones included. */
export function ueInfo({ enb, contexts }: Mme): Listing<UeContext> {
  return { path: '/ue-info', hasAllAtOnce: false, items: contexts(), show: (context) => ueItem(context, enb) }
}

/** `/enb-info` of an MME. */
export function enbInfo(mme: Mme): Listing<Enb> {
  return {
    path: '/enb-info',
    hasAllAtOnce: true,
    items: mme.isRadioUp ? [mme.enb] : [],
    show: (enb) => enbItem(enb, mme),
  }
}

function ueItem(context: UeContext, enb: Enb): Json {
  const { isConnected, session } = context
  return {
    supi: context.imsi,
    domain: 'EPS',
    rat: 'E-UTRA',
    cm_state: isConnected ? 'connected' : 'idle',
    mm_state: context.state,
    enb: {
      ostream_id: context.ostreamId,
      ...(isConnected ? { mme_ue_ngap_id: context.mmeUeId, ran_ue_ngap_id: context.enbUeId } : {}),
      enb_id: enb.enbId,
      cell_id: enb.cellId,
      ...(isConnected ? {} : { status: 'not-connected' }),
    },
    location: {
      tai: { plmn: enb.plmn, tac_hex: tacHex(enb), tac: enb.tac },
      timestamp: context.locatedAtUs,
    },
    ambr: { downlink: context.ambr.downlink, uplink: context.ambr.uplink },
    pdn: session === undefined ? [] : [pdnItem(session)],
    pdn_count: session === undefined ? 0 : 1,
  }
}

function pdnItem({ apn, ebi, qci }: Session): Json {
  return { apn, qos_flows: [{ ebi }], qci, ebi, bearer_count: 1, pdu_state: 'active' }
}

function enbItem(enb: Enb, { contexts, lastOstreamId }: Mme): Json {
  return {
    enb_id: enb.enbId,
    name: '',
    plmn: enb.plmn,
    network: { mme_name: '' },
    s1: {
      setup_success: true,
      sctp: { peer: enb.peer, max_out_streams: enb.maxOutStreams, next_ostream_id: lastOstreamId },
    },
    supported_ta_list: [{ tac: tacHex(enb), plmn: enb.plmn }],
    num_connected_ues: contexts().filter(({ isConnected }) => isConnected).length,
  }
}

function tacHex({ tac }: Enb): string {
  return tac.toString(16).toUpperCase().padStart(4, '0')
}
