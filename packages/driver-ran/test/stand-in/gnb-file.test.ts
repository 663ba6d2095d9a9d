import { assert, suite } from '@steeple/testkit'
import { renderRadio } from '../../src/render/render-radio.ts'
import { gnbInput } from '../support/radio-input.ts'
import { exitCodeOf, linesOf, namesOf, recording } from '../support/recordings.ts'
import { gnbVerdict } from './gnb-file.ts'

const file = suite('driver-ran/stand-in/gnb-file')

const GOOD = renderRadio(gnbInput()).rendered.files.get('gnb.yml') ?? ''
/** As the recordings were made: what the driver renders, with that difference. */
const CHANGES: Readonly<Record<string, readonly [from: RegExp, to: string]>> = {
  gnb_bits: [/gnb_id_bit_length: 22/, 'gnb_id_bit_length: 33'],
  pci_big: [/pci: 1$/m, 'pci: 2000'],
  plmn_mismatch: [/^ {2}plmn: .*$/m, '  plmn: "00101"'],
  srate_low: [/srate: .*/, 'srate: 3.84'],
  tac_zero: [/^ {2}tac: .*$/m, '  tac: 0'],
  unknown_cell_key: [/^ {2}pci: 1$/m, '  pci: 1\n  foo_bar: 1'],
  unknown_key: [/^/, 'foo_bar: 1\n'],
  yaml_syntax: [/pci: 1$/m, 'pci: [1'],
  zmq_discontinuous: [/device_driver: .*/, 'device_driver: zmq'],
}
/** What depends on bands and channels, on addresses or on what is installed: the stand-in knows nothing of these. */
const NOT_MODELLED = ['amf_bind', 'arfcn_off', 'dev_uhd', 'gtp_bind', 'scs30_narrow', 'srate_prach']
/** Figures and places, which are those of the file. */
const shape = (text: string): string =>
  text.replace(/, column.*/, '').replaceAll(/'[^']*'|\d+(?:\.\d+)?/g, '…')

file('takes what the driver renders', () => {
  assert.is(gnbVerdict(GOOD).code, undefined)
  assert.is(gnbVerdict(GOOD).isLogging, true)
})

for (const [name, [from, to]] of Object.entries(CHANGES))
  file(`refuses as the program did: ${name}`, () => {
    const changed = GOOD.replace(from, to)
    assert.is.not(changed, GOOD)
    const { lines, code } = gnbVerdict(changed)
    const recorded = recording(`gnb_bad_${name}.`)
    assert.is(code, exitCodeOf(recorded))
    const said = linesOf(recorded).filter(({ text }) => text !== '')
    const sorted = (all: readonly { readonly stream: string; readonly text: string }[]) =>
      all.map(({ stream, text }) => `${stream} ${shape(text)}`).sort()
    assert.equal(sorted(lines), sorted(said))
  })

file('knows of each recorded refusal, or says that it does not', () => {
  assert.equal(
    namesOf('gnb_bad_'),
    [...Object.keys(CHANGES), ...NOT_MODELLED].map((name) => `gnb_bad_${name}.txt`).sort(),
  )
})

file.run()
