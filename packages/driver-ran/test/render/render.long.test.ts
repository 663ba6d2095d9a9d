import { readFileSync } from 'node:fs'
import { isServiceError, type RadioProfile } from '@steeple/contracts'
import { assert, suite } from '@steeple/testkit'
import fc from 'fast-check'
import type { RadioInput } from '../../src/render/radio-input.ts'
import { renderRadio } from '../../src/render/render-radio.ts'
import { PROFILE } from '../support/lab.ts'
import { gnbInput, NR_PROFILE, radioInput } from '../support/radio-input.ts'

const render = suite('driver-ran/render')

function golden(name: string): string {
  return readFileSync(new URL(`../golden/${name}`, import.meta.url), 'utf8')
}

for (const [program, input, names] of [
  ['srsenb', radioInput(), ['enb.conf', 'rr.conf', 'sib.conf', 'rb.conf']],
  ['gnb', gnbInput(), ['gnb.yml']],
] as const) {
  render(`writes the files of ${program} as reviewed`, () => {
    const { files } = renderRadio(input).rendered
    assert.equal([...files.keys()], [...names])
    for (const name of names) assert.is(files.get(name), golden(name), name)
  })
}

render('names its files by absolute paths and puts what it decides last', () => {
  assert.equal(renderRadio(radioInput()).args, ['/var/lib/svc/ran/enb.conf'])
  const overlays = new Map([['gnb.yml', 'slicing:\n  - sst: 1\n']])
  assert.equal(renderRadio(gnbInput({ overlays })).args, [
    '-c',
    '/var/lib/svc/ran/overlay.yml',
    '-c',
    '/var/lib/svc/ran/gnb.yml',
  ])
})

render('gives the same bytes for the same input, and another fingerprint for each change', () => {
  const changes: readonly RadioInput[] = [
    radioInput(),
    radioInput({ tac: 8 }),
    radioInput({ plmn: { mcc: '262', mnc: '005' } }),
    radioInput({ profile: { ...PROFILE, tx_gain_db: 41 } }),
    radioInput({ ran: { enb_id: 412 } }),
    radioInput({ ran: { args: ['--expert.rrc_inactivity_timer=1000'] } }),
  ]
  const sums = changes.map((input) => renderRadio(input).rendered.sha256)
  assert.is(new Set(sums).size, changes.length)
  assert.is(renderRadio(radioInput()).rendered.sha256, sums[0])
})

render('keeps an MNC of 05 and of 005 apart', () => {
  assert.match(renderRadio(radioInput()).rendered.files.get('enb.conf') ?? '', /^mnc = 05$/m)
  assert.match(renderRadio(gnbInput()).rendered.files.get('gnb.yml') ?? '', / {2}plmn: "26205"/)
})

/** Carriers of gnb with the spacing that its own validation takes, whatever `ran.scs_khz` says. */
const SPACINGS: readonly (readonly [
  band: string,
  channel: number,
  width: number,
  wanted: 15 | 30,
  scs: 15 | 30,
])[] = [
  ['n78', 632_628, 20, 15, 30],
  ['n3', 368_500, 10, 30, 15],
  ['n1', 428_000, 5, 30, 15],
  ['n5', 176_300, 5, 30, 15],
  ['n5', 176_300, 10, 30, 15],
  ['n66', 431_000, 10, 30, 15],
  ['n66', 431_000, 20, 30, 30],
  ['n41', 518_598, 10, 30, 15],
  ['n41', 518_601, 20, 30, 15],
  ['n41', 518_598, 20, 30, 30],
]
for (const [band, channel, bandwidth_mhz, scs_khz, spacing] of SPACINGS) {
  render(
    `emits ${bandwidth_mhz} MHz at ${channel} in ${band} with ${spacing} kHz where ${scs_khz} kHz is asked for`,
    () => {
      const profile = { ...NR_PROFILE, band, channel, bandwidth_mhz }
      const text = renderRadio(gnbInput({ profile, ran: { scs_khz } })).rendered.files.get('gnb.yml') ?? ''
      assert.match(text, new RegExp(`^ {2}common_scs: ${spacing}$`, 'm'))
      // At 11.52 MHz it refuses the PRACH of a carrier of 10 MHz at 30 kHz.
      if (bandwidth_mhz === 10) assert.match(text, /^ {2}srate: 15\.36$/m)
    },
  )
}

/** What must be refused: the key that is named. */
const REFUSED: readonly (readonly [why: string, input: () => RadioInput, key: string])[] = [
  ['a gain of 0', () => withGain(0), 'tx_gain_db'],
  ['a negative gain', () => withGain(-10), 'tx_gain_db'],
  ['a gain that would be written as 0', () => withGain(0.001), 'tx_gain_db'],
  ['a gain that is no number', () => withGain(Number.NaN), 'tx_gain_db'],
  ['a real radio without a gain', () => radioInput({ profile: withoutGain() }), 'tx_gain_db'],
  ['a receive gain of 0', () => radioInput({ profile: { ...PROFILE, rx_gain_db: 0 } }), 'rx_gain_db'],
  ['24 resource blocks', () => radioInput({ profile: { ...PROFILE, bandwidth_mhz: 4.8 } }), 'bandwidth_mhz'],
  ['a TAC above 16 bits', () => radioInput({ tac: 70_000 }), 'tac'],
  ['the TAC that stands for none', () => radioInput({ tac: 0 }), 'tac'],
  ['an eNB id of 21 bits', () => radioInput({ ran: { enb_id: 0x1fffff } }), 'ran.enb_id'],
  ['a PCI above 503', () => radioInput({ ran: { pci: 504 } }), 'ran.pci'],
  ['a cell id above 255', () => radioInput({ ran: { cell_id: 256 } }), 'ran.cell_id'],
  ['a host name as MME', () => radioInput({ ran: { mme_addr: 'mme.example' } }), 'ran.mme_addr'],
  [
    'an own address of another machine',
    () => radioInput({ ran: { bind_addr: '192.0.2.99' } }),
    'ran.bind_addr',
  ],
  [
    'a user plane address of another machine',
    () => radioInput({ ran: { gtp_bind_addr: '192.0.2.99' } }),
    'ran.gtp_bind_addr',
  ],
  ['an MCC in quotes', () => radioInput({ plmn: { mcc: '"262"', mnc: '05' } }), 'plmn.mcc'],
  ['an MNC of one digit', () => radioInput({ plmn: { mcc: '262', mnc: '5' } }), 'plmn.mnc'],
  ['an EARFCN of no band', () => radioInput({ profile: { ...PROFILE, channel: 99_999 } }), 'channel'],
  ['an uplink EARFCN', () => radioInput({ profile: { ...PROFILE, channel: 21_350 } }), 'channel'],
  ['another band than the channel has', () => radioInput({ profile: { ...PROFILE, band: 'b3' } }), 'band'],
  ['an NR profile for srsenb', () => radioInput({ profile: NR_PROFILE }), 'ran.program'],
  ['a second device', () => radioInput({ ran: { device_args: 'a=1;b=2' } }), 'ran.device_args'],
  ['a line in the device', () => radioInput({ ran: { device_args: 'a=1\ntx_gain = 0' } }), 'ran.device_args'],
  ['a relative program', () => radioInput({ ran: { binary: 'srsenb' } }), 'ran.binary'],
  ['an argument that moves the carrier', () => radioInput({ ran: { args: ['--rf.dl_freq=1'] } }), 'ran.args'],
  [
    'an argument that sends louder',
    () => radioInput({ ran: { args: ['--expert.tx_amplitude=1'] } }),
    'ran.args',
  ],
  [
    'an argument that writes what phones say to a file',
    () => radioInput({ ran: { args: ['--expert.report_json_enable=true'] } }),
    'ran.args',
  ],
  ['an argument of two words', () => radioInput({ ran: { args: ['--rf.dl_earfcn', '1'] } }), 'ran.args'],
  ['arguments of gnb', () => gnbInput({ ran: { args: ['cell_cfg', '--pci', '3'] } }), 'ran.args'],
  ...[68_960, 69_010, 69_250, 70_455, 70_570, 70_620].map(
    (channel) =>
      [
        `a band that srsenb does not know, by its channel ${channel}`,
        () => radioInput({ profile: { technology: 'lte', channel, bandwidth_mhz: 5, tx_gain_db: 40 } }),
        'channel',
      ] as const,
  ),
  [
    'a band whose channels srsenb puts 10 MHz lower',
    () => radioInput({ profile: { technology: 'lte', channel: 6_999, bandwidth_mhz: 5, tx_gain_db: 40 } }),
    'channel',
  ],
  ['a band without an uplink', () => nrCell('n29', 144_500), 'channel'],
  ['a band that gnb does not know', () => nrCell('n31', 93_000), 'channel'],
  ['a band that gnb takes for one of millimetre waves', () => nrCell('n105', 126_400), 'channel'],
  ['a width that the uplink control fills by half', () => nrCell('n78', 632_628, 10), 'channel'],
  ['a band whose uplink gnb puts elsewhere', () => nrCell('n92', 294_900), 'channel'],
  ['a channel above the uplink of its band', () => nrCell('n70', 402_500), 'channel'],
  ['the same where gnb refuses it', () => nrCell('n70', 402_500, 15), 'channel'],
  ['a width whose uplink would stick out of its band', () => nrCell('n70', 401_500, 20), 'channel'],
  ['a TAC above 24 bits', () => gnbInput({ tac: 0x1000000 }), 'tac'],
  [
    'a bandwidth that gnb does not have',
    () => gnbInput({ profile: { ...NR_PROFILE, bandwidth_mhz: 35 } }),
    'bandwidth_mhz',
  ],
  [
    'a channel that is none at the one spacing of its band',
    () => gnbInput({ profile: { ...NR_PROFILE, channel: 632_627 } }),
    'channel',
  ],
  [
    'a width that its band does not have',
    () => gnbInput({ profile: { ...NR_PROFILE, band: 'n3', channel: 368_500, bandwidth_mhz: 100 } }),
    'channel',
  ],
  [
    'a blank in the data directory',
    () => radioInput({ directory: '/var/lib/my svc/ran' }),
    'server.data_dir',
  ],
]

for (const [why, input, key] of REFUSED) {
  render(`refuses ${why}`, () => {
    try {
      renderRadio(input())
    } catch (error) {
      assert.ok(isServiceError(error))
      assert.is(error.code, 'validation_failed')
      assert.ok(
        error.details?.some(({ pointer }) => pointer === `/${key.replaceAll('.', '/')}`),
        JSON.stringify(error.details),
      )
      return
    }
    assert.unreachable(`${why} was rendered`)
  })
}

const OVERLAYS: readonly (readonly [program: 'srsenb' | 'gnb', name: string, content: string])[] = [
  ['srsenb', 'rr.conf', 'cell_list = ();'],
  ['srsenb', 'enb.conf', '[rf]\ntx_gain = 0'],
  ['srsenb', 'sib.conf', '@include "/etc/passwd"\nsib1 = { };'],
  ['srsenb', 'sib.conf', 'sib1 = { additional_plmns = ( ); };'],
  ['srsenb', 'sib.conf', 'sib1 = { };\nsib12 = { };'],
  ['srsenb', 'rb.conf', 'nothing = 1;'],
  ['gnb', 'gnb.yml', 'cell_cfg:\n  dl_arfcn: 1\n'],
  ['gnb', 'gnb.yml', 'slicing:\n  - sst: 1\nru_sdr: {tx_gain: 90}\n'],
  ['gnb', 'gnb.yml', '{"cell_cfg": {"dl_arfcn": 1}}'],
  ['gnb', 'gnb.yml', '--- \ncell_cfg:\n'],
  ['gnb', 'gnb.yml', '"cell_cfg":\n  dl_arfcn: 1\n'],
  ['gnb', 'gnb.yml', 'qos: &a\n  x: 1\ncell_cfg: *a\n'],
  ['gnb', 'gnb.yml', `slicing:\n${' '.repeat(70_000)}`],
]

for (const [program, name, content] of OVERLAYS) {
  render(`refuses an overlay ${name} of ${JSON.stringify(content.slice(0, 40))}`, () => {
    const overlays = new Map([[name, content]])
    assert.throws(
      () => renderRadio(program === 'gnb' ? gnbInput({ overlays }) : radioInput({ overlays })),
      /ran\.template|overlay|may hold|must not|larger|missing/,
    )
  })
}

render('never writes what could end a line or a value, whatever the profile and the device say', () => {
  const profile = fc.record({
    technology: fc.constant<'lte'>('lte'),
    channel: fc.oneof(fc.constant(3_350), fc.integer({ min: 0, max: 70_000 })),
    bandwidth_mhz: fc.constantFrom(1.4, 3, 5, 10, 15, 20, 4.8),
    tx_gain_db: fc.oneof(fc.double({ min: 0, max: 1 }), fc.double({ min: -1, max: 101 })),
  })
  let rendered = 0
  fc.assert(
    fc.property(
      profile,
      fc.constantFrom('auto', 'a=1', 'a b', ''),
      fc.nat(70_000),
      (radio, device_args, tac) => {
        let files: ReadonlyMap<string, string>
        try {
          files = renderRadio(radioInput({ profile: radio, tac, ran: { device_args } })).rendered.files
        } catch (error) {
          assert.ok(isServiceError(error) && error.code === 'validation_failed')
          return
        }
        rendered += 1
        const gain = /^tx_gain = (\S+)$/m.exec(files.get('enb.conf') ?? '')?.[1]
        assert.ok(Number(gain) > 0 && Number(gain) <= 100, String(gain))
        assert.match(files.get('rr.conf') ?? '', new RegExp(`tac = ${tac};`))
      },
    ),
    { numRuns: 3_000 },
  )
  assert.ok(rendered > 10, `${rendered} were rendered`)
})

function nrCell(band: string, channel: number, bandwidth_mhz = 5): RadioInput {
  return gnbInput({ profile: { ...NR_PROFILE, band, channel, bandwidth_mhz }, ran: { scs_khz: 15 } })
}

function withGain(tx_gain_db: number): RadioInput {
  return radioInput({ profile: { ...PROFILE, tx_gain_db } })
}

function withoutGain(): RadioProfile {
  const { tx_gain_db: _, ...rest } = PROFILE
  return rest
}

render.run()
