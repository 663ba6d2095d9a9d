/** The recorded page of metrics of each daemon; the MME's is a recorded exchange that begins like one. */
export const METRICS_RECORDINGS = {
  mme: 'mme-http-zero-ue.txt',
  smf: 'smf-metrics.one-ue-attached.txt',
  amf: 'amf-metrics.5g-one-ue.txt',
  upf: 'upf-metrics.one-ue-attached.txt',
  hss: 'hss-metrics.one-ue-attached.txt',
  pcrf: 'pcrf-metrics.one-ue-attached.txt',
  pcf: 'pcf-metrics.5g-one-ue.txt',
} as const
