import { isIPv4 } from 'node:net'
import { isAbsolute } from 'node:path'
import { isMcc, isMnc, isTac } from '@steeple/telecom'
import { type RenderProblem, technologyProblem } from './cell-plan.ts'
import { overlayProblems } from './overlay-problems.ts'
import { coreAddress, gtpAddress, isVirtualDevice, programOf, type RadioInput } from './radio-input.ts'

/** TS 36.331 §6.3.4: physical cell ids of LTE are 0 to 503; srsenb takes a higher one modulo 504. */
const LTE_PCI_MAX = 503
/** TS 38.331 §6.3.2. */
const NR_PCI_MAX = 1007
/** TS 36.413 §9.2.1.37: 20 bits; srsenb announces a longer id as 0. */
const ENB_ID_MAX = 0xfffff
/** The driver announces 22 bits. */
const GNB_ID_MAX = 0x3fffff
/** TS 23.003 §19.4.2.3: the TAC that stands for "no valid TAI", besides 0. */
const LTE_TAC_RESERVED = 0xfffe
/** TS 23.003 §28.6. */
const NR_TAC_RESERVED = 0xfffffe

/** The least gain that is written as more than 0, dB. */
const LEAST_GAIN_DB = 0.1

/** Options of srsenb that touch neither carrier, power, identity, ciphering, addresses, files nor how fast it stops. */
const EXPERT_OPTIONS: ReadonlySet<string> = new Set([
  'equalizer_mode',
  'estimator_fil_w',
  'gtpu_tunnel_timeout',
  'lte_sample_rates',
  'mac_prach_bi',
  'max_mac_dl_kos',
  'max_mac_ul_kos',
  'max_prach_offset_us',
  'nof_phy_threads',
  'nof_prach_threads',
  'nof_prealloc_ues',
  'pusch_8bit_decoder',
  'pusch_max_its',
  'rlf_min_ul_snr_estim',
  'rlf_release_timer_ms',
  'rrc_inactivity_timer',
  'rx_gain_offset',
  's1_connect_timer',
  'sctp_init_max_attempts',
  'sctp_rto_max',
  'use_cedron_f_est_alg',
])
const ARGUMENT = /^--(scheduler|expert)\.([a-z][a-z0-9_]*)=[A-Za-z0-9_.,:+-]*$/
const DEVICE_ARGS = /^[A-Za-z0-9_=,.:/*+-]{1,512}$/
const DEVICE_NAME = /^[A-Za-z0-9_]{1,32}$/

/** Every reason not to start a radio with this input: both programs take most of these wrong values silently. */
export function renderProblems(input: RadioInput): readonly RenderProblem[] {
  return [
    ...identityProblems(input),
    ...numberProblems(input),
    ...gainProblems(input),
    ...addressProblems(input),
    ...deviceProblems(input),
    ...argumentProblems(input),
    ...overlayProblems(input),
  ]
}

function identityProblems({ plmn, tac, ran, profile }: RadioInput): readonly RenderProblem[] {
  const problems: RenderProblem[] = []
  if (!isMcc(plmn.mcc)) problems.push({ key: 'plmn.mcc', message: 'the MCC must be 3 digits' })
  if (!isMnc(plmn.mnc)) problems.push({ key: 'plmn.mnc', message: 'the MNC must be 2 or 3 digits' })
  const needed = ran.program === 'srsenb' ? 'lte' : 'nr'
  const technology = technologyProblem(programOf(ran), profile)
  if (technology !== undefined) problems.push(technology)
  const reserved = needed === 'lte' ? LTE_TAC_RESERVED : NR_TAC_RESERVED
  if (!isTac(needed, tac) || tac === 0 || tac === reserved) {
    const allowed = `1 to ${reserved + 1}, and ${reserved} is reserved`
    problems.push({ key: 'tac', message: `the TAC ${tac} is none of ${needed}: allowed is ${allowed}` })
  }
  return problems
}

function numberProblems({ ran }: RadioInput): readonly RenderProblem[] {
  const isLte = ran.program === 'srsenb'
  const bounds: readonly (readonly [string, number, number])[] = [
    ['ran.pci', ran.pci, isLte ? LTE_PCI_MAX : NR_PCI_MAX],
    ['ran.cell_id', ran.cell_id, 255],
    isLte ? ['ran.enb_id', ran.enb_id, ENB_ID_MAX] : ['ran.gnb_id', ran.gnb_id, GNB_ID_MAX],
  ]
  return bounds
    .filter(([, value, max]) => !Number.isInteger(value) || value < 0 || value > max)
    .map(([key, value, max]) => ({ key, message: `${key} is ${value}; ${ran.program} takes 0 to ${max}` }))
}

/** What is wrong with the gains of a profile for the device. */
export function gainProblems({
  profile,
  ran,
}: Pick<RadioInput, 'profile' | 'ran'>): readonly RenderProblem[] {
  const problems: RenderProblem[] = []
  const { tx_gain_db: txGain, rx_gain_db: rxGain } = profile
  if (txGain === undefined && !isVirtualDevice(ran)) {
    problems.push({
      key: 'tx_gain_db',
      message:
        'the transmit gain (tx_gain_db) is missing: the program would choose its own; enter one, low at first',
    })
  }
  // srsRAN takes 0 and less as "not set" and then sends with the receive gain.
  for (const [key, gain] of [
    ['tx_gain_db', txGain],
    ['rx_gain_db', rxGain],
  ] as const) {
    if (gain === undefined || (gain >= LEAST_GAIN_DB && gain <= 100)) continue
    problems.push({ key, message: `${key} is ${gain}; allowed is ${LEAST_GAIN_DB} to 100 dB` })
  }
  return problems
}

function addressProblems(input: RadioInput): readonly RenderProblem[] {
  const { ran, localAddresses } = input
  const problems: RenderProblem[] = []
  const literal = (key: string, value: string): void => {
    if (!isIPv4(value)) problems.push({ key, message: `${key} is no IPv4 literal` })
  }
  const own = (key: string, value: string): void => {
    literal(key, value)
    if (isIPv4(value) && !value.startsWith('127.') && !localAddresses.includes(value)) {
      problems.push({ key, message: `${key} ${value} is no address of this machine` })
    }
  }
  literal(ran.program === 'srsenb' ? 'ran.mme_addr' : 'ran.amf_addr', coreAddress(input))
  own('ran.bind_addr', ran.bind_addr)
  own('ran.gtp_bind_addr', gtpAddress(input))
  if (ran.gtp_advertise_addr !== '') literal('ran.gtp_advertise_addr', ran.gtp_advertise_addr)
  return problems
}

function deviceProblems({ ran, directory }: RadioInput): readonly RenderProblem[] {
  const problems: RenderProblem[] = []
  if (!DEVICE_NAME.test(ran.device_name)) {
    problems.push({ key: 'ran.device_name', message: 'ran.device_name is letters, digits and _' })
  }
  if (!DEVICE_ARGS.test(ran.device_args)) {
    problems.push({
      key: 'ran.device_args',
      message: 'ran.device_args must not hold spaces, quotes, # or ; (they change the meaning of the line)',
    })
  }
  if (!isAbsolute(ran.binary)) {
    problems.push({ key: 'ran.binary', message: 'ran.binary must be an absolute path' })
  }
  // A blank or quote in the path would end the value in enb.conf.
  if (!/^\/[A-Za-z0-9_./@+-]+$/.test(directory)) {
    problems.push({
      key: 'server.data_dir',
      message: 'the path of the data directory must hold letters, digits and _ . / @ + - alone',
    })
  }
  return problems
}

function argumentProblems({ ran }: RadioInput): readonly RenderProblem[] {
  return ran.args
    .filter((argument) => ran.program === 'gnb' || !isHarmlessArgument(argument))
    .map((argument) => ({
      key: 'ran.args',
      message:
        ran.program === 'gnb'
          ? 'gnb takes no ran.args; put options into gnb.yml in ran.template_dir'
          : `ran.args may not hold ${argument.slice(0, 64)}, since the command line wins over what the gate has permitted; ` +
            `allowed are --scheduler.<key>=<value>, and --expert.<key>=<value> for ${[...EXPERT_OPTIONS].join(', ')}`,
    }))
}

function isHarmlessArgument(argument: string): boolean {
  const [, section, key = ''] = ARGUMENT.exec(argument) ?? []
  return section === 'scheduler' || (section === 'expert' && EXPERT_OPTIONS.has(key))
}
