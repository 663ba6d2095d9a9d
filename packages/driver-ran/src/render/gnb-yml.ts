import type { CellPlan } from './cell-plan.ts'
import { decimal } from './enb-conf.ts'
import { coreAddress, gtpAddress, isVirtualDevice, type RadioInput } from './radio-input.ts'

/** Width of the gNB id that is announced, bits. TS 38.413 §9.3.1.6: 22 to 32. */
const GNB_ID_BITS = 22
const VIRTUAL_GAIN_DB = 75
const RX_GAIN_DB = 50

/** Sample rate in MHz by carrier bandwidth in MHz: the next multiple of the usual clocks above the carrier. */
const SAMPLE_RATE_MHZ: ReadonlyMap<number, number> = new Map([
  [5, 7.68],
  // 11.52 is enough for the carrier, not for its short PRACH at 30 kHz, which gnb refuses then.
  [10, 15.36],
  [15, 15.36],
  [20, 23.04],
  [25, 30.72],
  [30, 30.72],
  [40, 61.44],
  [50, 61.44],
  [60, 92.16],
  [70, 92.16],
  [80, 92.16],
  [90, 122.88],
  [100, 122.88],
])

/**
 * `gnb.yml` of gnb (srsRAN Project 25.04 on, OCUDU 26.04): every value that the gate or the node decides.
 *
 * PLMNs are quoted, so that 05 stays 05.
 */
export function gnbYml(input: RadioInput, plan: CellPlan): string {
  const { plmn, tac, profile, ran } = input
  const plmnText = JSON.stringify(`${plmn.mcc}${plmn.mnc}`)
  const rate = SAMPLE_RATE_MHZ.get(plan.bandwidthMhz) ?? 0
  const lines = [
    `gnb_id: ${ran.gnb_id}`,
    `gnb_id_bit_length: ${GNB_ID_BITS}`,
    'ran_node_name: steeple',
    'cu_cp:',
    '  amf:',
    `    addr: ${coreAddress(input)}`,
    `    bind_addr: ${ran.bind_addr}`,
    '    supported_tracking_areas:',
    `      - tac: ${tac}`,
    '        plmn_list:',
    `          - plmn: ${plmnText}`,
    '            tai_slice_support_list:',
    ...input.slices.flatMap(({ sst, sd }) => [
      `              - sst: ${sst}`,
      ...(sd === undefined ? [] : [`                sd: ${Number.parseInt(sd, 16)}`]),
    ]),
    'cu_up:',
    '  ngu:',
    '    socket:',
    `      - bind_addr: ${gtpAddress(input)}`,
    ...(ran.gtp_advertise_addr === '' ? [] : [`        ext_addr: ${ran.gtp_advertise_addr}`]),
    'ru_sdr:',
    `  device_driver: ${ran.device_name === 'auto' ? 'uhd' : ran.device_name.toLowerCase()}`,
    ...(deviceArgs(input, rate) === undefined ? [] : [`  device_args: ${deviceArgs(input, rate)}`]),
    `  srate: ${rate}`,
    `  tx_gain: ${decimal(profile.tx_gain_db ?? VIRTUAL_GAIN_DB)}`,
    `  rx_gain: ${decimal(profile.rx_gain_db ?? RX_GAIN_DB)}`,
    // Nothing is sent while there is nothing to send. The virtual radio has no such mode.
    ...(isVirtualDevice(ran) ? [] : ['  expert_cfg:', '    tx_mode: discontinuous']),
    'cell_cfg:',
    `  dl_arfcn: ${plan.channel}`,
    `  band: ${plan.nrBand ?? 0}`,
    `  channel_bandwidth_MHz: ${plan.bandwidthMhz}`,
    `  common_scs: ${plan.scsKhz ?? ran.scs_khz}`,
    `  plmn: ${plmnText}`,
    `  tac: ${tac}`,
    `  pci: ${ran.pci}`,
    '  nof_antennas_dl: 1',
    '  nof_antennas_ul: 1',
    ...reporting(ran.remote_control_port),
  ]
  return `${lines.join('\n')}\n`
}

/**
 * What the driver reads of the program: its output, and its figures over the remote control.
 *
 * Figures in the log besides: what gnb prints into a pipe stays in its buffer until it logs something, and on a quiet day that
 * is never. They say that slots pass as well.
 */
function reporting(port: number): readonly string[] {
  return [
    'log:',
    '  filename: stdout',
    '  all_level: warning',
    '  ngap_level: info',
    '  hex_max_size: 0',
    'remote_control:',
    '  enabled: true',
    '  bind_addr: 127.0.0.1',
    `  port: ${port}`,
    'metrics:',
    '  enable_json: true',
    '  enable_log: true',
    '  autostart_stdout_metrics: false',
    '  layers:',
    '    enable_sched: true',
    '    enable_ngap: true',
    '  periodicity:',
    '    du_report_period: 1000',
    '    cu_cp_report_period: 1000',
  ]
}

function deviceArgs({ ran }: RadioInput, rate: number): string | undefined {
  if (ran.device_args !== 'auto') return JSON.stringify(ran.device_args)
  return isVirtualDevice(ran)
    ? `"tx_port=tcp://127.0.0.1:2000,rx_port=tcp://127.0.0.1:2001,base_srate=${rate}e6"`
    : undefined
}
