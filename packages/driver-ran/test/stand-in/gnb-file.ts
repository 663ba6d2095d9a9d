import { readFileSync } from 'node:fs'

/** How gnb takes its file: what it prints, and the code with which it ends; undefined when it starts. */
export interface GnbVerdict {
  readonly lines: readonly { readonly stream: 'out' | 'err'; readonly text: string }[]
  readonly code: number | undefined
  /** Whether it logs its figures onto its output: only what it logs brings out what it has printed. */
  readonly isLogging: boolean
}

const BANNER = { stream: 'out', text: '--== srsRAN gNB (commit d2f4b70dda) ==--' } as const
/** Ends of its option parser: a file, a value, a key. */
const [CODE_FILE, CODE_VALUE, CODE_KEY] = [103, 105, 110] as const
const AREAS = 'cu_cp.amf.supported_tracking_areas'
const CELL =
  'dl_arfcn band channel_bandwidth_MHz common_scs plmn tac pci nof_antennas_dl nof_antennas_ul'.split(' ')
/** What it knows of what the driver writes. */
const KEYS: ReadonlySet<string> = new Set([
  ...['gnb_id', 'gnb_id_bit_length', 'ran_node_name'],
  ...['cu_cp.amf.addr', 'cu_cp.amf.bind_addr', `${AREAS}.tac`, `${AREAS}.plmn_list.plmn`],
  ...['sst', 'sd'].map((key) => `${AREAS}.plmn_list.tai_slice_support_list.${key}`),
  ...['bind_addr', 'ext_addr'].map((key) => `cu_up.ngu.socket.${key}`),
  ...['device_driver', 'device_args', 'srate', 'tx_gain', 'rx_gain'].map((key) => `ru_sdr.${key}`),
  'ru_sdr.expert_cfg.tx_mode',
  ...CELL.map((key) => `cell_cfg.${key}`),
  ...['filename', 'all_level', 'ngap_level', 'hex_max_size'].map((key) => `log.${key}`),
  ...['enabled', 'bind_addr', 'port'].map((key) => `remote_control.${key}`),
  ...['enable_json', 'enable_log', 'autostart_stdout_metrics'].map((key) => `metrics.${key}`),
  ...['enable_sched', 'enable_ngap'].map((key) => `metrics.layers.${key}`),
  ...['du_report_period', 'cu_cp_report_period'].map((key) => `metrics.periodicity.${key}`),
])
/** Sections of overlays, of which everything counts as known. */
const OVERLAID = /^(?:qos|srbs|slicing|expert_phy|expert_execution|buffer_pool|hal)\b/u
/** Lowest and highest value. */
const RANGES: readonly (readonly [key: string, option: string, low: number, high: number])[] = [
  ['gnb_id_bit_length', 'gnb_id_bit_length', 22, 32],
  ['cell_cfg.pci', 'pci', 0, 1007],
]
const RESERVED_TACS: readonly unknown[] = ['0', '16777214']

/** Whether a line is of its log, which it sends at once. */
export function isLogged(line: string): boolean {
  return /^\d{4}-\d\d-\d\dT/.test(line)
}

/** What it logs each second of its core, whether slots pass or not. */
export const CORE_FIGURES = '2026-11-27T02:50:00.000000 [METRICS ] CU-CP NGAP metrics: '

/** What it logs each second while slots pass, when it is to log its figures. */
export function figuresLine(phones: number): string {
  return (
    '2026-11-27T02:50:00.000000 [METRICS ] Scheduler cell pci=1 metrics: total_dl_brate=0bps total_ul_brate=0bps nof_prbs=51 ' +
    `error_indications=0 failed_pdcch=0 failed_uci=0 nof_ues=${phones} late_dl_harqs=0`
  )
}

/** Reads `gnb.yml` as the program of release 25.10 does, and refuses what it was seen to refuse. */
export function readGnbFile(path: string): GnbVerdict {
  return gnbVerdict(readFileSync(path, 'utf8'))
}

/** The same of the text of a file. */
export function gnbVerdict(text: string): GnbVerdict {
  const values = valuesOf(text)
  if (typeof values === 'number')
    return refusedByParser(
      CODE_FILE,
      `Error parsing YAML configuration file: yaml-cpp: error at line ${values}`,
    )
  const unknown = [...values.keys()].find((key) => !KEYS.has(key) && !OVERLAID.test(key))
  if (unknown !== undefined) return refusedByParser(CODE_KEY, `INI was not able to parse ${unknown}`)
  const get = (key: string): string => values.get(key)?.[0] ?? ''
  for (const [key, option, low, high] of RANGES) {
    const value = Number(get(key))
    if (value < low || value > high)
      return refusedByParser(CODE_VALUE, `--${option}: Value ${value} not in range [${low} - ${high}]`)
  }
  if (RESERVED_TACS.includes(get('cell_cfg.tac')))
    return refusedByParser(CODE_VALUE, '--tac: TAC values 0 or 0xfffffe are reserved')
  const fault = validatorFault(values, get)
  if (fault !== undefined) {
    const lines = [
      BANNER,
      { stream: 'out', text: fault },
      { stream: 'err', text: 'srsRAN ERROR: Invalid configuration detected.' },
    ] as const
    return { lines, code: 1, isLogging: false }
  }
  return { lines: [BANNER], code: undefined, isLogging: get('metrics.enable_log') === 'true' }
}

/** What its validators state, the cell and its core first, then the radio. */
function validatorFault(
  values: ReadonlyMap<string, readonly string[]>,
  get: (key: string) => string,
): string | undefined {
  const [plmn, tac] = [get('cell_cfg.plmn'), get('cell_cfg.tac')]
  const isServed =
    values.get(`${AREAS}.plmn_list.plmn`)?.includes(plmn) && values.get(`${AREAS}.tac`)?.includes(tac)
  if (isServed !== true)
    return `Could not find cell PLMN '${plmn}' and cell TAC '${tac}' in the CU-CP supported tracking areas list`
  const [rate, width] = [Number(get('ru_sdr.srate')), Number(get('cell_cfg.channel_bandwidth_MHz'))]
  if (rate < width)
    return `Sampling rate (i.e. ${rate.toFixed(2)} MHz) is too low for the requested channel bandwidth (i.e. ${width} MHz).`
  if (get('ru_sdr.device_driver') === 'zmq' && get('ru_sdr.expert_cfg.tx_mode') === 'discontinuous')
    return 'Discontinuous transmission modes cannot be used with ZMQ.'
  return undefined
}

function refusedByParser(code: number, text: string): GnbVerdict {
  const lines = [
    { stream: 'err', text },
    { stream: 'err', text: 'Run with --help for more information.' },
    BANNER,
  ] as const
  return { lines, code, isLogging: false }
}

/** Scalars by the path of their keys, those of lists together; the number of the first line that is none of these. */
function valuesOf(text: string): ReadonlyMap<string, readonly string[]> | number {
  const values = new Map<string, string[]>()
  const open: { readonly indent: number; readonly key: string }[] = []
  for (const [at, line] of text.split('\n').entries()) {
    if (/^\s*(?:#.*)?$/.test(line)) continue
    const found = /^((?: {2})*(?:- )?)(\w+):(?: ("[^"]*"|[^"\s[\]{}]+))?$/.exec(line)
    if (found === null) return at + 1
    const [, lead = '', key = '', value] = found
    while ((open.at(-1)?.indent ?? -1) >= lead.length) open.pop()
    const path = [...open.map((one) => one.key), key].join('.')
    if (value === undefined) open.push({ indent: lead.length, key })
    else values.set(path, [...(values.get(path) ?? []), value.replaceAll('"', '')])
  }
  return values
}
