import type { S6aCounts } from '../hss/s6a-counts.ts'
import { exposition, metric, processMetrics } from './process-metrics.ts'

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
  const gauge = (name: string, help: string, value: number): string =>
    metric(name, 'gauge', help, [` ${value}`])
  return exposition([
    ...HSS_COUNTERS.map(([name, help]) => metric(name, 'counter', help, [` ${values[name] ?? 0}`])),
    gauge('hss_imsi', 'Number of IMSIs attached to HSS', counts.imsis),
    gauge('hss_impi', 'Number of IMPIs attached to HSS', 0),
    gauge('hss_impu', 'Number of IMPUs attached to HSS', 0),
    ...processMetrics(),
  ])
}

/** `/metrics` of the PCRF, in the recorded order. Nobody asks it anything here. */
export function pcrfMetrics(): string {
  const counters = PCRF_COUNTERS.map(([name, help]) => metric(name, 'counter', help, [' 0']))
  return exposition([...counters, ...processMetrics()])
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
