import type { Mme } from '../mme/mme.ts'
import type { Sessions } from '../smf/sessions.ts'
import { exposition, metric, processMetrics } from './process-metrics.ts'

/** `/metrics` of the MME, in the recorded order. */
export function mmeMetrics(mme: Mme): string {
  const all = mme.contexts()
  const gauge = (name: string, help: string, value: number): string =>
    metric(name, 'gauge', help, [` ${value}`])
  const counter = (name: string, help: string): string => metric(name, 'counter', help, [' 0'])
  return exposition([
    gauge('enb_ue', 'Number of UEs connected to eNodeBs', all.filter((ue) => ue.isConnected).length),
    gauge('mme_session', 'MME Sessions', all.filter((ue) => ue.session !== undefined).length),
    gauge('enb', 'eNodeBs', mme.isRadioUp ? 1 : 0),
    counter('dns_query_total', 'DNS queries issued for SGW/PGW selection'),
    counter('dns_query_failed', 'Failed DNS-based SGW/PGW selections (fell back to static configuration)'),
    counter('dns_cache_hit', 'DNS lookups answered from the local cache'),
    ...processMetrics(),
  ])
}

/** The SGW-C as the SMF labels it. */
const PEER = '{addr="127.0.0.3"}'

/** `/metrics` of the SMF, in the recorded order. */
export function smfMetrics(sessions: Sessions): string {
  const active = sessions.list().length
  const { created, deleted } = sessions
  // As recorded: it sinks below zero in 4G.
  const pfcpSessions = -deleted
  const gauge = (name: string, help: string, value: number): string =>
    metric(name, 'gauge', help, [` ${value}`])
  const counter = (name: string, help: string, value = 0): string =>
    metric(name, 'counter', help, [` ${value}`])
  const ofPeer = (name: string, help: string, value = 0): string =>
    metric(name, 'counter', help, created === 0 ? [] : [`${PEER} ${value}`])
  return exposition([
    counter('gn_rx_createpdpcontextreq', 'Received GTPv1C CreatePDPContextRequest messages'),
    counter('gn_rx_deletepdpcontextreq', 'Received GTPv1C DeletePDPContextRequest messages'),
    gauge('gtp1_pdpctxs_active', 'Active GTPv1 PDP Contexts (GGSN)', 0),
    gauge('pfcp_peers_active', 'Active PFCP peers', 1),
    counter(
      'fivegs_smffunction_sm_n4sessionreport',
      'Number of requested N4 session reports evidented by SMF',
    ),
    gauge('ues_active', 'Active User Equipments', active),
    gauge('gtp2_sessions_active', 'Active GTPv2 Sessions (PGW)', active),
    gauge('pfcp_sessions_active', 'Active PFCP Sessions', pfcpSessions),
    counter('s5c_rx_createsession', 'Received GTPv2C CreateSessionRequest messages', created),
    counter('s5c_rx_deletesession', 'Received GTPv2C DeleteSessionRequest messages', deleted),
    counter('gtp_new_node_failed', 'Unable to allocate new GTP (peer) Node'),
    counter('s5c_rx_parse_failed', 'Received GTPv2C messages discarded due to parsing failure'),
    counter(
      'fivegs_smffunction_sm_n4sessionreportsucc',
      'Number of successful N4 session reports evidented by SMF',
    ),
    counter(
      'fivegs_smffunction_sm_n4sessionestabreq',
      'Number of requested N4 session establishments evidented by SMF',
    ),
    gauge('bearers_active', 'Active Bearers', active),
    counter('gn_rx_parse_failed', 'Received GTPv1C messages discarded due to parsing failure'),
    gauge('gtp_peers_active', 'Active GTP peers', created === 0 ? 0 : 1),
    ofPeer('gtp_node_gn_rx_parse_failed', 'Received GTPv1C messages discarded due to parsing failure'),
    ofPeer('gtp_node_gn_rx_createpdpcontextreq', 'Received GTPv1C CreatePDPContextRequest messages'),
    ofPeer('gtp_node_gn_rx_deletepdpcontextreq', 'Received GTPv1C DeletePDPContextRequest messages'),
    ofPeer('gtp_node_s5c_rx_parse_failed', 'Received GTPv2C messages discarded due to parsing failure'),
    ofPeer('gtp_node_s5c_rx_createsession', 'Received GTPv2C CreateSessionRequest messages', created),
    ofPeer('gtp_node_s5c_rx_deletesession', 'Received GTPv2C DeleteSessionRequest messages', deleted),
    ...metricsOf5g(),
    ...processMetrics(),
  ])
}

/** Metrics of 5G sessions: named, and without a value in 4G. */
function metricsOf5g(): readonly string[] {
  const none = (name: string, type: 'gauge' | 'counter', help: string): string => metric(name, type, help, [])
  return [
    none('fivegs_smffunction_sm_sessionnbr', 'gauge', 'Active Sessions'),
    none(
      'fivegs_smffunction_sm_pdusessioncreationreq',
      'counter',
      'Number of PDU sessions requested to be created by the SMF',
    ),
    none(
      'fivegs_smffunction_sm_pdusessioncreationsucc',
      'counter',
      'Number of PDU sessions successfully created by the SMF',
    ),
    none('fivegs_smffunction_sm_qos_flow_nbr', 'gauge', 'Number of QoS flows at the SMF'),
    none(
      'fivegs_smffunction_sm_n4sessionestabfail',
      'counter',
      'Number of failed N4 session establishments evidented by SMF',
    ),
    none(
      'fivegs_smffunction_sm_pdusessioncreationfail',
      'counter',
      'Number of PDU sessions failed to be created by the SMF',
    ),
  ]
}
