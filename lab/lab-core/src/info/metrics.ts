import { readdirSync, readFileSync } from 'node:fs'
import type { S6aCounts } from '../hss/hss.ts'
import type { Mme } from '../mme/mme.ts'
import type { Sessions } from '../smf/sessions.ts'

/** The figures of this process that each daemon adds to its metrics, in the recorded order. */
function processMetrics(): readonly string[] {
  const [pages = '0', resident = '0'] = readFileSync('/proc/self/statm', 'utf8').split(' ')
  const fields = readFileSync('/proc/self/stat', 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
  const limit = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1] ?? '-1'
  const cpuSeconds = Math.floor((Number(fields[11]) + Number(fields[12])) / CLOCK_TICKS)
  return [
    gauge('process_max_fds', 'Maximum number of open file descriptors.', limit),
    gauge('process_virtual_memory_max_bytes', 'Maximum amount of virtual memory available in bytes.', '-1'),
    gauge('process_cpu_seconds_total', 'Total user and system CPU time spent in seconds.', cpuSeconds),
    gauge('process_virtual_memory_bytes', 'Virtual memory size in bytes.', Number(pages) * PAGE_BYTES),
    gauge('process_resident_memory_bytes', 'Resident memory size in bytes.', Number(resident) * PAGE_BYTES),
    gauge(
      'process_start_time_seconds',
      'Start time of the process since unix epoch in seconds.',
      // Clock ticks since boot, whatever the help says.
      fields[19] ?? '0',
    ),
    gauge('process_open_fds', 'Number of open file descriptors.', readdirSync('/proc/self/fd').length),
  ]
}

/** A metric with its samples, `{label="…"} value` each; without any when there are none. */
function metric(name: string, type: 'gauge' | 'counter', help: string, samples: readonly string[]): string {
  const lines = samples.map((sample) => `${name}${sample}\n`)
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`
}

/** A body of metrics: a blank line after each. */
function exposition(metrics: readonly string[]): string {
  return metrics.map((text) => `${text}\n`).join('')
}

function gauge(name: string, help: string, value: string | number): string {
  return metric(name, 'gauge', help, [` ${value}`])
}

function counter(name: string, help: string, value = 0): string {
  return metric(name, 'counter', help, [` ${value}`])
}

/** USER_HZ and page size of Linux on the machines this runs on. */
const CLOCK_TICKS = 100
const PAGE_BYTES = 4096

/** `/metrics` of the MME, in the recorded order. */
export function mmeMetrics(mme: Mme): string {
  const all = mme.contexts()
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

/** `/metrics` of the UPF, in the recorded order: its counts of packets and volume stay 0, whatever goes through. */
export function upfMetrics(sessions: Sessions): string {
  const all = sessions.list()
  const none = (name: string, help: string): string => metric(name, 'counter', help, [])
  const ofApn = Map.groupBy(all, ({ apn }) => apn)
  const flows = [...ofApn].map(([apn, { length }]) => `{dnn="${apn}"} ${length}`)
  return exposition([
    counter('fivegs_ep_n3_gtp_indatapktn3upf', 'Number of incoming GTP data packets on the N3 interface'),
    counter('fivegs_ep_n3_gtp_outdatapktn3upf', 'Number of outgoing GTP data packets on the N3 interface'),
    counter(
      'fivegs_upffunction_sm_n4sessionestabreq',
      'Number of requested N4 session establishments',
      sessions.created,
    ),
    counter('fivegs_upffunction_sm_n4sessionreport', 'Number of requested N4 session reports'),
    counter('fivegs_upffunction_sm_n4sessionreportsucc', 'Number of successful N4 session reports'),
    gauge('fivegs_upffunction_upf_sessionnbr', 'Active Sessions', all.length),
    gauge('pfcp_peers_active', 'Active PFCP peers', 1),
    none(
      'fivegs_ep_n3_gtp_indatavolumeqosleveln3upf',
      'Data volume of incoming GTP data packets per QoS level on the N3 interface',
    ),
    none(
      'fivegs_ep_n3_gtp_outdatavolumeqosleveln3upf',
      'Data volume of outgoing GTP data packets per QoS level on the N3 interface',
    ),
    none('fivegs_upffunction_sm_n4sessionestabfail', 'Number of failed N4 session establishments'),
    metric('fivegs_upffunction_upf_qosflows', 'gauge', 'Number of QoS flows of UPF', flows),
    ...processMetrics(),
  ])
}

/** Name and help of a counter. */
type Row = readonly [string, string]

/** `/metrics` of the HSS, in the recorded order. */
export function hssMetrics(counts: S6aCounts): string {
  const values: Readonly<Record<string, number>> = {
    s6a_rx_air: counts.air,
    s6a_tx_aia: counts.aia,
    s6a_rx_air_error: counts.airErrors,
    s6a_rx_ulr: counts.ulr,
    s6a_tx_ula: counts.ula,
    s6a_rx_ulr_error: counts.ulrErrors,
    s6a_tx_clr: counts.clr,
    s6a_rx_cla: counts.clr,
    s6a_tx_idr: counts.idr,
    s6a_rx_ida: counts.idr,
  }
  return exposition([
    ...HSS_COUNTERS.map(([name, help]) => counter(name, help, values[name])),
    gauge('hss_imsi', 'Number of IMSIs attached to HSS', counts.imsis),
    gauge('hss_impi', 'Number of IMPIs attached to HSS', 0),
    gauge('hss_impu', 'Number of IMPUs attached to HSS', 0),
    ...processMetrics(),
  ])
}

/** `/metrics` of the PCRF, in the recorded order. Nobody asks it anything here. */
export function pcrfMetrics(): string {
  return exposition([...PCRF_COUNTERS.map(([name, help]) => counter(name, help)), ...processMetrics()])
}

/** As the daemons say it, mistakes of direction included. */
const HSS_COUNTERS: readonly Row[] = [
  ['cx_rx_lir', 'Transmitted Cx LIR messages'],
  ['cx_rx_uar', 'Received Cx UAR messages'],
  ['cx_tx_lia', 'Transmitted Cx LIA messages'],
  ['cx_rx_unknown', 'Received Cx unknown messages'],
  ['cx_rx_sar', 'Received Cx SAR messages'],
  ['s6a_rx_pur', 'Transmitted S6a PUR messages'],
  ['swx_rx_mar_error', 'Received SWx MAR messages failed'],
  ['cx_tx_uaa', 'Transmitted Cx UAA messages'],
  ['s6a_rx_pur_error', 'Transmitted S6a PUR messages failed'],
  ['s6a_tx_clr', 'Transmitted S6a CLR messages'],
  ['cx_tx_saa', 'Transmitted Cx SAA messages'],
  ['cx_rx_lir_error', 'Transmitted Cx LIR messages failed'],
  ['s6a_rx_ulr', 'Transmitted S6a ULR messages'],
  ['s6a_rx_cla', 'Received S6a CLA messages'],
  ['s6a_rx_cla_error', 'Received S6a CLA messages failed'],
  ['s6a_rx_air', 'Received S6a AIR messages'],
  ['cx_rx_mar', 'Received Cx MAR messages'],
  ['swx_rx_sar', 'Received SWx SAR messages'],
  ['s6a_rx_air_error', 'Received S6a AIR messages failed'],
  ['s6a_rx_ida_error', 'Received S6a IDA messages failed'],
  ['cx_tx_maa', 'Transmitted Cx MAA messages'],
  ['swx_rx_mar', 'Received SWx MAR messages'],
  ['s6a_rx_unknown', 'Received S6a unknown messages'],
  ['s6a_tx_pua', 'Transmitted S6a PUA messages'],
  ['swx_rx_unknown', 'Received SWx unknown messages'],
  ['cx_rx_mar_error', 'Received Cx MAR messages failed'],
  ['cx_rx_uar_error', 'Received Cx UAR messages failed'],
  ['s6a_tx_ula', 'Transmitted S6a ULA messages'],
  ['s6a_rx_ulr_error', 'Transmitted S6a ULR messages failed'],
  ['s6a_tx_aia', 'Transmitted S6a AIA messages'],
  ['s6a_tx_idr', 'Transmitted S6a IDR messages'],
  ['s6a_rx_ida', 'Received S6a IDA messages'],
  ['cx_rx_sar_error', 'Received Cx SAR messages failed'],
  ['swx_rx_sar_error', 'Received SWx SAR messages failed'],
  ['swx_tx_maa', 'Transmitted SWx MAA messages'],
  ['swx_tx_saa', 'Transmitted SWx SAA messages'],
]

const PCRF_COUNTERS: readonly Row[] = [
  ['gx_rx_unknown', 'Received Gx unknown messages'],
  ['gx_rx_ccr', 'Received Gx CCR messages'],
  ['gx_rx_ccr_error', 'Received Gx CCR messages failed'],
  ['gx_rx_raa', 'Received Gx RAA messages'],
  ['gx_tx_cca', 'Received Gx RAA messages failed'],
  ['gx_tx_rar', 'Transmitted Gx RAR messages'],
  ['gx_tx_rar_error', 'Failed to transmit Gx RAR messages'],
  ['rx_rx_unknown', 'Received Rx unknown messages'],
  ['rx_rx_aar', 'Received Rx AAR messages'],
  ['rx_rx_aar_error', 'Received Rx AAR messages failed'],
  ['rx_rx_asa', 'Received Rx ASA messages'],
  ['rx_rx_asa_error', 'Received Rx ASA messages failed'],
  ['rx_rx_str_error', 'Received Rx STR messages failed'],
  ['rx_tx_aaa', 'Transmitted Rx AAA messages'],
  ['rx_tx_sar', 'Transmitted Rx SAR messages'],
  ['rx_tx_sta', 'Transmitted Rx STA messages'],
]
