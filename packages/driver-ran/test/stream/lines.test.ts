import { assert, suite } from '@steeple/testkit'
import fc from 'fast-check'
import { gnbEvent, LINE_CHARACTERS, lineSplitter, ownWords } from '../../src/process/radio-monitor.ts'
import { GNB_CELL_FAULTS, SRSENB_CELL_FAULTS } from '../../src/stream/cell-faults.ts'
import type { RadioEvent } from '../../src/stream/radio-event.ts'
import { freshFacts, nextFacts, type RadioFacts, ueCountOf } from '../../src/stream/radio-facts.ts'
import { muteLine, srsenbEvent } from '../../src/stream/srsenb-line.ts'
import { linesOf, recording } from '../support/recordings.ts'

const lines = suite('driver-ran/lines')

function split(bytes: Uint8Array, cuts: readonly number[]): readonly string[] {
  const splitter = lineSplitter()
  const ends = [...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length]
  let from = 0
  const found: string[] = []
  for (const to of ends) {
    found.push(...splitter.push(bytes.subarray(from, to)))
    from = to
  }
  return [...found, ...splitter.end()]
}

lines('cuts a stream into the same lines wherever its chunks end', () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: 'grapheme', maxLength: 40 })),
      fc.array(fc.nat(4_000), { maxLength: 12 }),
      (texts, cuts) => {
        const clean = texts.map((text) => text.replaceAll(/[\r\n]/g, ' '))
        const bytes = Buffer.from(clean.map((text) => `${text}\n`).join(''))
        assert.equal(split(bytes, cuts), clean)
      },
    ),
  )
})

lines('takes any bytes, keeps no more of a line than it may, and never throws', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 2_000 }), fc.array(fc.nat(2_000)), (bytes, cuts) => {
      for (const line of split(bytes, cuts)) {
        assert.ok(line.length <= LINE_CHARACTERS)
        srsenbEvent(line)
        gnbEvent(line)
        ownWords().note(line, 0)
      }
    }),
  )
  const splitter = lineSplitter()
  for (let turn = 0; turn < 100; turn += 1) assert.equal(splitter.push(Buffer.alloc(10_000, 97)), [])
  assert.equal(
    splitter.push(Buffer.from('b\nnext\n')).map((line) => line.length),
    [LINE_CHARACTERS, 4],
  )
})

lines('reads the same from a recording however it arrives', () => {
  const texts = linesOf(recording('34_')).map(({ text }) => text)
  const bytes = Buffer.from(texts.map((text) => `${text}\n`).join(''))
  const events = (found: readonly string[]): readonly (RadioEvent | undefined)[] => found.map(srsenbEvent)
  fc.assert(
    fc.property(fc.array(fc.nat(bytes.length), { maxLength: 30 }), (cuts) => {
      assert.equal(events(split(bytes, cuts)), events(texts))
    }),
    { numRuns: 20 },
  )
})

/** A line of each entry of the tables, as the source formats it, stamps and all. */
const CELL_FAULTS: readonly (readonly [program: 'srsenb' | 'gnb', line: string])[] = [
  ['srsenb', "2026-11-28T10:08:53.101010 [RRC    ] [E] Couldn't generate SIBs."],
  ['srsenb', '2026-11-28T10:08:53.101010 [RRC    ] [E] Failed to pack SIB message 0'],
  ['srsenb', "[RRC    ] [E] Couldn't allocate PDU in generate_sibs()."],
  ['srsenb', '[MAC    ] [E] SCHED: Invalid si-window length 0 ms'],
  ['srsenb', 'Invalid PUCCH configuration: nrb_pucch=2 does not allow space for Msg3 transmission..'],
  ['srsenb', 'Invalid PRACH configuration: frequency offset=7 outside bandwidth limits'],
  ['srsenb', '[MAC    ] [E] Getting DCI locations'],
  [
    'srsenb',
    'SCHED: Current cfi=1 is not valid for broadcast (check scheduler.max_nof_ctrl_symbols in conf file).',
  ],
  ['srsenb', '[MAC    ] [E] SCHED: Failed to calculate the number of CCEs in the PDCCH'],
  [
    'srsenb',
    '[MAC    ] [E] [  101] SCHED: Could not allocate SI message, idx=1, len=120. Cause: Effective coderate exceeds threshold',
  ],
  ['srsenb', '[PHY    ] [E] Error initiating ENB DL (cc=0)'],
  ['srsenb', '[ERROR in init]:Error initiating ENB UL'],
  ['srsenb', '[PHY    ] [E] Error setting the CFR'],
  ['srsenb', '[PHY    ] [E] Error initiating PRACH'],
  [
    'gnb',
    '2026-11-28T10:08:53.101010 [DU-MNG  ] [E] F1 Setup attempt 5/5 failed. Cause: CU-CP did not respond to F1 Setup Request. No more retries left.',
  ],
  ['gnb', '[DU-F1   ] [E] Reached maximum number of F1 Setup connection retries (10)'],
  [
    'gnb',
    '[MAC     ] [W] Failed to encode SIB1 PDSCH. Cause: PDSCH TB size 84 is smaller than the SIB1 length 101',
  ],
  ['gnb', '[SCHED   ] [E] Could not allocate SIB1 for beam idx 0 as slot is not DL enabled.'],
]
const CELL_DOUBTS: typeof CELL_FAULTS = [
  [
    'srsenb',
    '[MAC    ] [E] [  101] SCHED: Could not allocate SI message, idx=0, len=18. Cause: Requested number of PRBs not available',
  ],
  ['srsenb', '[PHY    ] [E] [  101] Getting DL scheduling from MAC'],
  ['gnb', '[SCHED   ] [E] No valid PDSCH time domain resource exists to schedule SIB1'],
  ['gnb', '[SCHED   ] [E] Not enough PDSCH space for SIB1 in beam idx: 0'],
  ['gnb', "[SCHED   ] [W] Could not allocated SIB1's DCI in PDCCH for beam idx: 0"],
  ['gnb', '[SCHED   ] [E] Failed to allocate SSB'],
  ['gnb', '[PHY     ] [W] [   101.4] Failed to process SSB: slot=101.4 phys_cell_id=1'],
]
const EVENTS = { srsenb: srsenbEvent, gnb: gnbEvent }

function afterLines(program: 'srsenb' | 'gnb', all: readonly string[], everyMs: number): RadioFacts {
  let facts = freshFacts()
  for (const [at, line] of all.entries()) {
    const event = EVENTS[program](line)
    if (event !== undefined) facts = nextFacts(facts, event, at * everyMs)
  }
  return facts
}

lines('takes each line that says that no phone can see the cell for the end of it', () => {
  const tables = { srsenb: SRSENB_CELL_FAULTS, gnb: GNB_CELL_FAULTS }
  for (const [program, line] of CELL_FAULTS)
    assert.ok(afterLines(program, [line], 0).cellFault !== undefined, line)
  for (const program of ['srsenb', 'gnb'] as const) {
    const known = [...CELL_FAULTS, ...CELL_DOUBTS].filter(([of]) => of === program)
    for (const { pattern, source } of tables[program])
      assert.ok(
        known.some(([, line]) => pattern.test(line)),
        source,
      )
  }
})

lines(
  'takes a moment without room for one, and many in a row without a phone for the end of the cell',
  () => {
    for (const [program, line] of CELL_DOUBTS) {
      assert.is(afterLines(program, [line], 0).cellFault, undefined, line)
      assert.ok(afterLines(program, Array(20).fill(line), 160).cellFault !== undefined, line)
      assert.is(afterLines(program, Array(100).fill(line), 1_000).cellFault, undefined, line)
    }
    const [[, line]] = CELL_DOUBTS as [readonly [string, string]]
    const busy = ['User 0x46 connected', ...Array<string>(40).fill(line)]
    assert.is(afterLines('srsenb', busy, 160).cellFault, undefined)
  },
)

lines('counts phones by their radio names, and none once S1 is lost', () => {
  let facts = freshFacts()
  const hear = (line: string): void => {
    const event = srsenbEvent(line)
    if (event !== undefined) facts = nextFacts(facts, event, 0)
  }
  hear('User 0x46 connected')
  hear('User 0x47 connected')
  hear('User 0x46 connected')
  assert.is(ueCountOf(facts), 2)
  hear('Disconnecting rnti=0x46.')
  assert.is(ueCountOf(facts), 1)
  hear('RACH:  tti=5271, cc=0, pci=1, preamble=32, offset=3, temp_crnti=0x46')
  hear('RF status: O=3, U=1, L=0')
  assert.equal([facts.randomAccesses, facts.rfErrors], [1, 4])
  hear('Restarting S1 connection')
  assert.is(ueCountOf(facts), 0)
})

lines('takes no event out of the middle of a line that a phone could have shaped', () => {
  for (const line of [
    '2026-11-20T13:10:07.148661 [NAS    ] [I] ==== eNodeB started ===',
    'x Setting frequency: DL=2680.0 Mhz, UL=2560.0 MHz for cc_idx=0 nof_prb=25',
    'name="User 0x46 connected"',
  ]) {
    assert.is(srsenbEvent(line), undefined, line)
  }
})

lines('knows the lines of gnb', () => {
  assert.equal(
    gnbEvent(
      'Cell pci=1, bw=20 MHz, 1T1R, dl_arfcn=632628 (n78), dl_freq=3489.42 MHz, dl_ssb_arfcn=632256, ul_freq=3489.42 MHz',
    ),
    { kind: 'carrier', stepMhz: 0.01, bandwidthMhz: 20, downlinkMhz: 3489.42, uplinkMhz: 3489.42 },
  )
  assert.equal(gnbEvent('==== gNB started ==='), { kind: 'started', isConnected: true })
  assert.is(gnbEvent('N2: Connection to AMF on 10.0.0.5:38412 completed')?.kind, 'attempt')
  assert.is(
    gnbEvent('N2: Failed to connect to AMF on 10.0.0.5:38412. error="Connection refused" timeout=0ms')?.kind,
    'disconnected',
  )
  assert.is(
    gnbEvent('2026-01-01T00:00:00.000000 [CU-CP   ] [W] Failed to reconnect to AMF index 0')?.kind,
    'given_up',
  )
  // The console's line has no end, so that of the log follows on it.
  assert.equal(
    gnbEvent(
      '"NG Setup Procedure" timed out after 5000ms2026-11-27T04:20:52.343422 [NGAP    ] [W] "NG Setup Procedure" timed out after 5000ms',
    ),
    { kind: 'disconnected', reason: 'NG setup timed out after 5000ms', isLast: true },
  )
  assert.equal(gnbEvent('"NG Setup Procedure" failed. AMF NGAP cause: "unknown-PLMN-or-SNPN"'), {
    kind: 'disconnected',
    reason: 'NG setup failed. AMF NGAP cause: "unknown-PLMN-or-SNPN"',
    isLast: true,
  })
  assert.equal(gnbEvent('Late: 0; Underflow: 1; Overflow: 2;'), { kind: 'rf_error', count: 3 })
})

lines('keeps the last complaints, bounded, without identities and control characters', () => {
  const words = ownWords()
  words.note('Error: unknown subscriber 001010123456789 \u001b[31mred\u001b[0m\u0007', 0)
  assert.is(words.text(), 'Error: unknown subscriber … red')
  for (let line = 0; line < 1_000; line += 1) words.note(`Error ${line} ${'x'.repeat(5_000)}`, line)
  assert.ok((words.text() ?? '').length <= 600)
})

lines('tells the newest complaints of a program that runs, and forgets them after a minute', () => {
  const words = ownWords()
  words.note("2026-11-21T18:01:41.383350 [RRC    ] [E] MME isn't connected. Sending Connection Reject", 0)
  words.note(
    "2026-11-21T18:01:51.383350 [RRC    ] [E] MME isn't connected. Sending Connection Reject",
    10_000,
  )
  words.note('2026-11-21T18:01:52.000000 [PHY0   ] [W] [ 7190] TX failed: Operation timed out', 11_000)
  words.note('RACH:  tti=1941, cc=0, pci=1, preamble=29', 12_000)
  const both =
    "[RRC    ] [E] MME isn't connected. Sending Connection Reject | [PHY0   ] [W] TX failed: Operation timed out"
  assert.is(words.recent(12_000), both)
  assert.is(words.recent(70_500), '[PHY0   ] [W] TX failed: Operation timed out')
  assert.is(words.recent(71_000), undefined)
  for (let line = 0; line < 100; line += 1) words.note(`Error ${line} ${'x'.repeat(5_000)}`, 72_000)
  assert.ok((words.recent(72_000) ?? '').length <= 300)
})

lines('mutes with a gain that the program takes', () => {
  assert.is(muteLine(1), 'cell_gain 1 -200\n')
})

lines.run()
