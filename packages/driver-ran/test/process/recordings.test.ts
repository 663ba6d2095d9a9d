import { assert, suite } from '@steeple/testkit'
import {
  type ExitClass,
  exitClass,
  exitText,
  isRetried,
  type RadioExit,
} from '../../src/process/exit-class.ts'
import { gnbEvent, ownWords } from '../../src/process/radio-monitor.ts'
import type { RadioEvent } from '../../src/stream/radio-event.ts'
import { freshFacts, nextFacts, type RadioFacts, ueCountOf } from '../../src/stream/radio-facts.ts'
import { srsenbEvent } from '../../src/stream/srsenb-line.ts'
import { exitCodeOf, linesOf, namesOf, recording } from '../support/recordings.ts'

const recordings = suite('driver-ran/recordings')

/** What the driver knows of a recorded run at its end. */
function heard(
  name: string,
  eventOf: (line: string) => RadioEvent | undefined = srsenbEvent,
): { readonly facts: RadioFacts; readonly exit: RadioExit } {
  const text = recording(name)
  const words = ownWords()
  let facts = freshFacts()
  for (const line of linesOf(text)) {
    words.note(line.text, line.atMs)
    const event = eventOf(line.text)
    if (event !== undefined) facts = nextFacts(facts, event, line.atMs)
  }
  const code = exitCodeOf(text)
  const exit = { code, signal: undefined, facts, words: words.text(), last: words.last(), isHalted: false }
  return { facts, exit }
}

/** Faulty configurations that the program takes silently, or that are none: it was still running. */
const TAKEN = [
  'bad_cli_override',
  'bad_log_dir_missing',
  'bad_mme_addr_hostname',
  'bad_nprb24',
  'bad_rr_tac_big',
  'bad_rr_tac_decimal_ok',
  'bad_s1c_bind_not_local',
]
/** No fault of the configuration: the device may be there next time. */
const DEVICE = ['bad_dev_auto']
/** The program's own words for each other one. */
const WORDS: Readonly<Record<string, RegExp>> = {
  bad_cli_unknown: /unrecognised option '--enb\.nope'/,
  bad_dev_bogus: /RF device 'bogus' not found/,
  bad_dev_uhd_notbuilt: /RF device 'UHD' not found/,
  bad_earfcn_bad: /Invalid DL_EARFCN=99999/,
  bad_enbid_hex_junk: /Error parsing enb\.enb_id: box\./,
  bad_gtp_bind_not_local: /Failed to bind on address 10\.99\.99\.1, port 2152/,
  bad_mcc_quoted: /Error parsing enb\.mcc:"001" - must be a 3-digit string/,
  bad_mcc_short: /Error parsing enb\.mcc:1 - must be a 3-digit string/,
  bad_mnc_short: /Error parsing enb\.mnc:1 - must be a 2 or 3-digit string/,
  bad_noconf_file: /Failed to read configuration file nope\.conf/,
  bad_nprb_text: /the argument \('5MHz'\) for option 'enb\.n_prb' is invalid/,
  bad_ports3: /Invalid number of ports \(3\)/,
  bad_rb_without_5g: /Error section five_qi_config not found/,
  bad_rb_without_5g_srb: /Optional 5G SRB configuration is not supported/,
  bad_rr_missing: /Failed to read RR configuration file/,
  bad_rr_syntax: /Parse error at rr_rr_syntax\.conf:58/,
  bad_rr_tac_missing: /Field "tac" doesn't exist/,
  bad_rr_tac_quoted: /cell_list\.\[0\]\.tac/,
  bad_s1_setup_max_retries_key: /unrecognised option 'expert\.s1_setup_max_retries'/,
  bad_unknown_key: /unrecognised option 'enb\.foo_bar'/,
}

for (const file of namesOf('bad_')) {
  const name = file.replace('.txt', '')
  recordings(`knows ${name} for what it is`, () => {
    const { facts, exit } = heard(`${name}.`)
    if (TAKEN.includes(name)) {
      assert.is(exit.code, undefined)
      assert.is(facts.isStarted, true)
      return
    }
    const kind = exitClass('srsenb', exit)
    assert.is(kind, DEVICE.includes(name) ? 'device' : 'config')
    assert.is(isRetried(kind), DEVICE.includes(name))
    if (kind === 'config') assert.match(exitText('srsenb', kind, exit), WORDS[name] ?? /never/)
  })
}

recordings('has an expectation for every recorded fault', () => {
  const known = [...TAKEN, ...DEVICE, ...Object.keys(WORDS)].sort()
  assert.equal(
    namesOf('bad_')
      .map((file) => file.replace('.txt', ''))
      .sort(),
    known,
  )
})

/** What a whole gnb of release 25.10 refused: how its end is taken, and its own words for the reason. */
const REFUSED_BY_GNB: readonly (readonly [name: string, kind: ExitClass, words: RegExp])[] = [
  [
    'amf_bind',
    'core',
    /Failed to bind SCTP socket to 10\.99\.99\.1:0\. Cause: Cannot assign requested address/,
  ],
  ['arfcn_off', 'config', /Invalid DL ARFCN=100 for band 3\. Cause: DL ARFCN must be within the interval/],
  ['dev_uhd', 'config', /Factory for radio type uhd not found/],
  ['gnb_bits', 'config', /--gnb_id_bit_length: Value 33 not in range \[22 - 32\]/],
  ['gtp_bind', 'failed', /Failed to bind UDP socket to 10\.99\.99\.1:2152\. Cannot assign requested address/],
  ['pci_big', 'config', /--pci: Value 2000 not in range \[0 - 1007\]/],
  ['plmn_mismatch', 'config', /Could not find cell PLMN '00101' and cell TAC '7'/],
  ['scs30_narrow', 'config', /Common SCS 30kHz is not equal to SSB SCS 15kHz/],
  [
    'srate_low',
    'config',
    /Sampling rate \(i\.e\. 3\.84 MHz\) is too low for the requested channel bandwidth/,
  ],
  ['srate_prach', 'config', /the number of PRBs for PUCCH exceeds the 50% of the BWP PRBs/],
  ['tac_zero', 'config', /--tac: TAC values 0 or 0xfffffe are reserved/],
  ['unknown_cell_key', 'config', /INI was not able to parse cell_cfg\.foo_bar/],
  ['unknown_key', 'config', /INI was not able to parse foo_bar/],
  ['yaml_syntax', 'config', /error at line 32, column 18: end of sequence flow not found/],
  ['zmq_discontinuous', 'config', /Discontinuous transmission modes cannot be used with ZMQ/],
]

for (const [name, kind, words] of REFUSED_BY_GNB)
  recordings(`tells why a gnb ended: ${name}`, () => {
    const { exit } = heard(`gnb_bad_${name}.`, gnbEvent)
    assert.is(exitClass('gnb', exit), kind)
    const text = exitText('gnb', kind, exit)
    assert.match(text, words)
    assert.not.match(text, /Run with --help|Emergency flush|commit/)
  })

recordings('has an expectation for every end of a gnb that was recorded', () => {
  assert.equal(
    namesOf('gnb_bad_'),
    REFUSED_BY_GNB.map(([name]) => `gnb_bad_${name}.txt`),
  )
})

recordings('sees the frequency, the device and S1 of a good start', () => {
  const { facts } = heard('34_')
  assert.equal(facts.carrier, {
    kind: 'carrier',
    stepMhz: 0.1,
    downlinkMhz: 2680,
    uplinkMhz: 2560,
    resourceBlocks: 25,
  })
  assert.is(facts.device, 'zmq')
  assert.is(facts.isStarted, true)
  assert.is(facts.isConnected, true)
})

recordings('sees that S1 was lost, and why it never came', () => {
  assert.match(heard('20_shim').facts.lossReason ?? '', /Failed to initiate S1 connection|Restarting S1/)
  assert.is(heard('20_shim').facts.isConnected, false)
  assert.match(heard('02_').facts.lossReason ?? '', /S1|SCTP/)
})

recordings('sees a cell that serves nobody before it is on air', () => {
  const { facts } = heard('46_')
  assert.match(facts.cellFault ?? '', /Invalid PUCCH configuration: nrb_pucch=2/)
})

recordings('sees a gain that is ignored', () => {
  for (const name of ['44_', '45_']) assert.is(heard(name).facts.isGainIgnored, true)
  assert.is(heard('34_').facts.isGainIgnored, false)
})

recordings('tells a crash from a refusal by its last words', () => {
  for (const name of ['25_max', '31_']) assert.is(exitClass('srsenb', heard(name).exit), 'crash')
})

recordings('tells a stop that stalled, a graceful one and a busy device', () => {
  const stalled = heard('01_')
  assert.is(stalled.facts.isForced, true)
  assert.is(exitClass('srsenb', { ...stalled.exit, signal: 'SIGKILL' }), 'killed')
  assert.is(exitClass('srsenb', heard('29_').exit), 'ended')
  assert.is(exitClass('srsenb', heard('36_').exit), 'device')
})

recordings('knows a whole gnb of release 25.10 by what came out of its pipe', () => {
  const words = ownWords()
  let facts = freshFacts()
  let carrierAtMs = Number.POSITIVE_INFINITY
  for (const { text, atMs } of linesOf(recording('50_gnb'))) {
    words.note(text, atMs)
    const event = gnbEvent(text)
    if (event?.kind === 'carrier') carrierAtMs = atMs
    if (event !== undefined) facts = nextFacts(facts, event, atMs)
  }
  const { carrier, isStarted, isConnected, startedAtMs = 0, connectedAtMs = 0, tickedAtMs = 0 } = facts
  assert.equal(carrier, {
    kind: 'carrier',
    stepMhz: 0.1,
    bandwidthMhz: 5,
    downlinkMhz: 1842.5,
    uplinkMhz: 1747.5,
  })
  assert.equal([isStarted, isConnected, ueCountOf(facts)], [true, true, 0])
  // Its peer saw the first sample at 5,364 ms: the carrier is known before it, the start a second after it.
  assert.ok(carrierAtMs < 5_364 && connectedAtMs < 5_364 && startedAtMs > 6_000 && tickedAtMs > 7_000)
  assert.is(words.text(), undefined)
})

/** The end of a gnb that has said that. */
function gnbEnd(code: number, ...said: readonly string[]): string {
  let facts = freshFacts()
  for (const line of said) {
    const event = gnbEvent(line)
    if (event !== undefined) facts = nextFacts(facts, event, 0)
  }
  return exitClass('gnb', { code, signal: undefined, facts, words: undefined, isHalted: false })
}

recordings('gives the ends of gnb their class', () => {
  assert.is(gnbEnd(1, 'srsRAN ERROR: CU-CP failed to connect to AMF'), 'core')
  assert.is(gnbEnd(1, 'OCUDU ERROR: Invalid configuration detected.'), 'config')
  assert.is(gnbEnd(109), 'config')
  assert.is(gnbEnd(1, 'Factory for radio type uhd not found. Make sure to select a valid type.'), 'config')
  assert.is(gnbEnd(1, 'srsRAN ERROR: Unable to create radio session.'), 'device')
  assert.is(gnbEnd(1), 'failed')
  assert.is(gnbEnd(0), 'ended')
  const signalled = { code: undefined, facts: freshFacts(), words: undefined, isHalted: false }
  assert.is(exitClass('gnb', { ...signalled, signal: 'SIGABRT' }), 'crash')
  assert.is(exitClass('gnb', { ...signalled, signal: 'SIGKILL' }), 'killed')
  assert.is(exitClass('gnb', { ...signalled, signal: 'SIGKILL', isHalted: true }), 'stopped')
})

recordings('finds the cause of an end however much noise follows it', () => {
  for (const [name, kind] of [
    ['bad_dev_auto', 'device'],
    ['bad_rr_tac_missing', 'config'],
  ] as const) {
    const { facts, exit } = heard(`${name}.`)
    const noise = Array.from({ length: 20 }, (_, at) => `Failed to do thing ${at}`).join(' | ')
    assert.is(exitClass('srsenb', { ...exit, facts, words: noise }), kind)
  }
})

recordings('takes an end that nothing explains for no refusal', () => {
  for (const code of [1, 255]) {
    const exit = {
      code,
      signal: undefined,
      facts: freshFacts(),
      words: 'Error of some kind',
      isHalted: false,
    }
    assert.is(exitClass('srsenb', exit), 'failed')
    assert.is(isRetried('failed'), true)
  }
})

recordings('tells an MME that is mute from one that is not there and one that refuses', () => {
  assert.match(heard('22_').facts.lossReason ?? '', /the MME is there, but does not answer/)
  assert.match(heard('35_').facts.lossReason ?? '', /nobody answers at the address of the MME/)
  assert.match(heard('21_').facts.lossReason ?? '', /S1 setup refused: misc - unknown-PLMN/)
})

recordings.run()
