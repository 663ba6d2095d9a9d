import { createHash } from 'node:crypto'
import { type Rendered, validationFailed } from '@steeple/contracts'
import { type CellPlan, cellPlan, type RenderProblem } from './cell-plan.ts'
import { decimal, enbConf } from './enb-conf.ts'
import { coreAddress, gtpAddress, isVirtualDevice, type RadioInput } from './radio-input.ts'
import { renderProblems } from './render-problems.ts'

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
function gnbYml(input: RadioInput, plan: CellPlan): string {
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

/** TS 36.211 §5.7.1: the PRACH is 6 resource blocks wide. */
const PRACH_BLOCKS = 6
/**
 * Resource blocks at each edge of the carrier for the PUCCH. In 6 resource blocks a second one leaves no room for Msg3:
 * srsenb then starts, sends, and lets no phone on. One holds 480 phones that report every 40 ms.
 */
const PUCCH_BLOCKS = 1

/** `sib.conf` of srsenb: system information 1 to 3 (TS 36.331 §6.2.2, §6.3.1). */
function sibConf(plan: CellPlan): string {
  return libconfig({
    sib1: {
      intra_freq_reselection: 'Allowed',
      q_rx_lev_min: -65,
      cell_barred: 'NotBarred',
      si_window_length: 20,
      sched_info: [{ si_periodicity: 16, si_mapping_info: [3] }],
      system_info_value_tag: 0,
    },
    sib2: {
      rr_config_common_sib: commonRadio(plan),
      ue_timers_and_constants: { t300: 2000, t301: 100, t310: 200, n310: 1, t311: 10_000, n311: 1 },
      freqInfo: { ul_carrier_freq_present: true, ul_bw_present: true, additional_spectrum_emission: 1 },
      time_alignment_timer: 'INFINITY',
    },
    sib3: {
      cell_reselection_common: { q_hyst: 2 },
      cell_reselection_serving: { s_non_intra_search: 3, thresh_serving_low: 2, cell_resel_prio: 6 },
      intra_freq_reselection: {
        q_rx_lev_min: -61,
        p_max: 23,
        s_intra_search: 5,
        presence_ant_port_1: true,
        neigh_cell_cnfg: 1,
        t_resel_eutra: 1,
      },
    },
  })
}

/** RadioResourceConfigCommonSIB (TS 36.331 §6.3.2). */
function commonRadio({ resourceBlocks }: CellPlan): Parameters<typeof libconfig>[0] {
  // In the narrowest carrier the PRACH fills all of it; srsenb wants it beside the PUCCH in all others.
  const isNarrowest = resourceBlocks === PRACH_BLOCKS
  return {
    rach_cnfg: {
      num_ra_preambles: 52,
      preamble_init_rx_target_pwr: -104,
      pwr_ramping_step: 6,
      preamble_trans_max: 10,
      ra_resp_win_size: 10,
      mac_con_res_timer: 64,
      max_harq_msg3_tx: 4,
    },
    bcch_cnfg: { modification_period_coeff: 16 },
    pcch_cnfg: { default_paging_cycle: 32, nB: '1' },
    prach_cnfg: {
      root_sequence_index: 128,
      prach_cnfg_info: {
        high_speed_flag: false,
        prach_config_index: 3,
        prach_freq_offset: isNarrowest ? 0 : PUCCH_BLOCKS,
        zero_correlation_zone_config: 5,
      },
    },
    pdsch_cnfg: { p_b: 1, rs_power: 0 },
    pusch_cnfg: {
      n_sb: 1,
      hopping_mode: 'inter-subframe',
      pusch_hopping_offset: 2,
      enable_64_qam: false,
      ul_rs: {
        cyclic_shift: 0,
        group_assignment_pusch: 0,
        group_hopping_enabled: false,
        sequence_hopping_enabled: false,
      },
    },
    pucch_cnfg: { delta_pucch_shift: 2, n_rb_cqi: PUCCH_BLOCKS, n_cs_an: 0, n1_pucch_an: 12 },
    ul_pwr_ctrl: {
      p0_nominal_pusch: -85,
      alpha: 0.7,
      p0_nominal_pucch: -107,
      delta_flist_pucch: { format_1: 0, format_1b: 3, format_2: 1, format_2a: 2, format_2b: 2 },
      delta_preamble_msg3: 6,
    },
    ul_cp_length: 'len1',
  }
}

/** TS 23.203 table 6.1.7-A: classes that lose packets rather than wait for them (voice, video, gaming). */
const UNACKNOWLEDGED: readonly number[] = [1, 2, 3, 4, 7]
/** TS 23.203 table 6.1.7-A: signalling and classes that repeat what was lost. 9 is the default bearer. */
const ACKNOWLEDGED: readonly number[] = [5, 6, 8, 9]

/**
 * `rb.conf` of srsenb: a radio bearer for each standard class, so that no bearer of the core is refused.
 *
 * The sections of 5G are required from release 22.04 on, whatever the cell emits; earlier releases overlook them.
 */
export function rbConf(): string {
  return libconfig({
    qci_config: [...UNACKNOWLEDGED.map(unacknowledged), ...ACKNOWLEDGED.map(acknowledged)],
    srb1_5g_config: SIGNALLING_5G,
    srb2_5g_config: SIGNALLING_5G,
    five_qi_config: [DEFAULT_BEARER_5G],
  })
}

function unacknowledged(qci: number): LibconfigGroup {
  return {
    qci,
    pdcp_config: { discard_timer: 100, pdcp_sn_size: 12 },
    rlc_config: { ul_um: { sn_field_length: 10 }, dl_um: { sn_field_length: 10, t_reordering: 45 } },
    logical_channel_config: { ...channel, priority: 13, log_chan_group: 2 },
    enb_specific: { dl_max_retx_thresh: 32 },
  }
}

function acknowledged(qci: number): LibconfigGroup {
  return {
    qci,
    pdcp_config: { discard_timer: 150, status_report_required: true },
    rlc_config: {
      ul_am: { t_poll_retx: 120, poll_pdu: 64, poll_byte: 750, max_retx_thresh: 16 },
      dl_am: { t_reordering: 50, t_status_prohibit: 50 },
    },
    logical_channel_config: { ...channel, priority: 11, log_chan_group: 3 },
    enb_specific: { dl_max_retx_thresh: 32 },
  }
}

/** -1 is no limit. */
const channel: LibconfigGroup = { prioritized_bit_rate: -1, bucket_size_duration: 100 }

/** TS 38.331 §9.2.1: signalling bearers by default. Sequence numbers have 12 bits (TS 38.322 §6.2.3.3). */
const SIGNALLING_5G: LibconfigGroup = {
  rlc_config: {
    ul_am: { sn_field_len: 12, t_poll_retx: 45, poll_pdu: -1, poll_byte: -1, max_retx_thres: 8 },
    dl_am: { sn_field_len: 12, t_reassembly: 35, t_status_prohibit: 0 },
  },
}

/** TS 23.501 table 5.7.4-1: 9 is the default bearer. */
const DEFAULT_BEARER_5G: LibconfigGroup = {
  five_qi: 9,
  pdcp_nr_config: {
    drb: { pdcp_sn_size_ul: 18, pdcp_sn_size_dl: 18, discard_timer: 150 },
    t_reordering: 50,
  },
  rlc_config: {
    am: {
      ul_am: { sn_field_len: 12, t_poll_retx: 50, poll_pdu: 4, poll_byte: 3_000, max_retx_thres: 4 },
      dl_am: { sn_field_len: 12, t_reassembly: 50, t_status_prohibit: 50 },
    },
  },
}

/** What a radio process is started with. */
export interface RadioPlan {
  readonly rendered: Rendered
  /** The carrier that the process must say it uses. */
  readonly cell: CellPlan
  /** Arguments of the program; the configuration files are named by absolute paths. */
  readonly args: readonly string[]
  /** The file by which an orphan is recognised: it is in the arguments. */
  readonly mainFile: string
}

/**
 * Files and arguments of the radio process. Pure: same input, same bytes.
 *
 * Throws `validation_failed` with every reason: a value that the program would take silently and wrongly included.
 */
export function renderRadio(input: RadioInput): RadioPlan {
  const plan = cellPlan(input.profile, input.ran.scs_khz)
  const problems = [...renderProblems(input), ...(isPlan(plan) ? [] : plan)]
  if (problems.length > 0 || !isPlan(plan)) throw invalid(problems)
  const files = input.ran.program === 'srsenb' ? enbFiles(input, plan) : gnbFiles(input, plan)
  const path = (name: string): string => `${input.directory}/${name}`
  const args =
    input.ran.program === 'srsenb'
      ? [...input.ran.args, path('enb.conf')]
      : [...(files.has('overlay.yml') ? ['-c', path('overlay.yml')] : []), '-c', path('gnb.yml')]
  return {
    rendered: { files, sha256: digest(files, [input.ran.binary, ...args]) },
    cell: plan,
    args,
    mainFile: path(input.ran.program === 'srsenb' ? 'enb.conf' : 'gnb.yml'),
  }
}

function enbFiles(input: RadioInput, plan: CellPlan): ReadonlyMap<string, string> {
  return new Map([
    ['enb.conf', enbConf(input, plan)],
    ['rr.conf', rrConf(input, plan)],
    ['sib.conf', input.overlays.get('sib.conf') ?? sibConf(plan)],
    ['rb.conf', input.overlays.get('rb.conf') ?? rbConf()],
  ])
}

/** The overlay comes first on the command line: what the driver decides wins. */
function gnbFiles(input: RadioInput, plan: CellPlan): ReadonlyMap<string, string> {
  const overlay = input.overlays.get('gnb.yml')
  const files = new Map([['gnb.yml', gnbYml(input, plan)]])
  if (overlay !== undefined) files.set('overlay.yml', overlay)
  return files
}

function isPlan(plan: CellPlan | readonly RenderProblem[]): plan is CellPlan {
  return !Array.isArray(plan)
}

function invalid(problems: readonly RenderProblem[]): Error {
  const text = problems.map(({ message }) => message).join('; ')
  return validationFailed(`the radio cannot be configured: ${text}`, {
    details: problems.map(({ key, message }) => ({ pointer: `/${key.replaceAll('.', '/')}`, message })),
  })
}

function digest(files: ReadonlyMap<string, string>, command: readonly string[]): string {
  const hash = createHash('sha256')
  for (const part of [...files].flat().concat(command)) hash.update(`${Buffer.byteLength(part)}:${part}`)
  return hash.digest('hex')
}

/**
 * `rr.conf` of srsenb: one cell without neighbours.
 *
 * TAC, cell id and EARFCN are plain integers: srsenb refuses quoted ones and cuts a TAC above 65535 silently.
 */
function rrConf({ ran, tac }: RadioInput, plan: CellPlan): string {
  return libconfig({
    mac_cnfg: {
      phr_cnfg: { dl_pathloss_change: 'dB3', periodic_phr_timer: 50, prohibit_phr_timer: 0 },
      ulsch_cnfg: { max_harq_tx: 4, periodic_bsr_timer: 20, retx_bsr_timer: 320 },
      time_alignment_timer: -1,
    },
    phy_cnfg: {
      phich_cnfg: { duration: 'Normal', resources: '1/6' },
      pusch_cnfg_ded: { beta_offset_ack_idx: 6, beta_offset_ri_idx: 6, beta_offset_cqi_idx: 6 },
      sched_request_cnfg: { dsr_trans_max: 64, period: 20, nof_prb: 1 },
      cqi_report_cnfg: { mode: 'periodic', simultaneousAckCQI: true, period: 40, m_ri: 8 },
    },
    cell_list: [
      {
        cell_id: ran.cell_id,
        tac,
        pci: ran.pci,
        dl_earfcn: plan.channel,
        ho_active: false,
        scell_list: [],
        meas_cell_list: [],
      },
    ],
  })
}

/** A value of libconfig's syntax. Numbers are written as integers unless they have a fraction; lists hold groups. */
type LibconfigValue =
  | string
  | number
  | boolean
  | readonly number[]
  | readonly LibconfigGroup[]
  | LibconfigGroup
/** Settings of a group, in order. */
interface LibconfigGroup {
  readonly [key: string]: LibconfigValue
}

/** The text of top-level settings in libconfig's syntax, as `rr.conf`, `sib.conf` and `rb.conf` have it. */
function libconfig(settings: LibconfigGroup): string {
  return `${members(settings, '')}`
}

function members(group: LibconfigGroup, indent: string): string {
  return Object.entries(group)
    .map(([key, value]) => `${indent}${key} = ${text(value, indent)};\n`)
    .join('')
}

function text(value: LibconfigValue, indent: string): string {
  if (typeof value === 'string') return JSON.stringify(value)
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  if (isList(value)) {
    if (value.length === 0) return '( )'
    if (isNumbers(value)) return `[ ${value.join(', ')} ]`
    return `(\n${value.map((each) => `${indent}  ${block(each, `${indent}  `)}`).join(',\n')}\n${indent})`
  }
  return block(value, indent)
}

function block(group: LibconfigGroup, indent: string): string {
  return `{\n${members(group, `${indent}  `)}${indent}}`
}

function isList(value: LibconfigValue): value is readonly number[] | readonly LibconfigGroup[] {
  return Array.isArray(value)
}

function isNumbers(list: readonly number[] | readonly LibconfigGroup[]): list is readonly number[] {
  return typeof list[0] === 'number'
}
