import type { Sessions } from '../smf/sessions.ts'
import { exposition, metric, processMetrics } from './process-metrics.ts'

/** `/metrics` of the UPF, in the recorded order: its counts of packets and volume stay 0, whatever goes through. */
export function upfMetrics(sessions: Sessions): string {
  const all = sessions.list()
  const counter = (name: string, help: string, value = 0): string =>
    metric(name, 'counter', help, [` ${value}`])
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
    metric('fivegs_upffunction_upf_sessionnbr', 'gauge', 'Active Sessions', [` ${all.length}`]),
    metric('pfcp_peers_active', 'gauge', 'Active PFCP peers', [' 1']),
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
