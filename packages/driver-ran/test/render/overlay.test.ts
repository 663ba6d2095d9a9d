import { assert, suite } from '@steeple/testkit'
import fc from 'fast-check'
import { overlayProblems } from '../../src/render/overlay-problems.ts'
import { rbConf, renderRadio } from '../../src/render/render-radio.ts'
import { gnbInput, radioInput } from '../support/radio-input.ts'

const overlay = suite('driver-ran/overlay')

/** What is said of an overlay; '' when it may be used. */
function verdict(name: string, content: string): string {
  const overlays = new Map([[name, content]])
  const input = name === 'gnb.yml' ? gnbInput({ overlays }) : radioInput({ overlays })
  return overlayProblems(input)
    .map(({ message }) => message)
    .join('; ')
}

const PLAIN = renderRadio(radioInput()).rendered.files.get('sib.conf') ?? ''
const withSib = (text: string): string => `${PLAIN}\n${text}\n`

const FOREIGN: readonly string[] = [
  'ul_carrier_freq = 24000;',
  'ul_carrier_freq /* x */ = 24000;',
  'ul_carrier_freq // y\n = 5;',
  'ul_carrier_freq # y\n : 5;',
  'ul_carrier_freq /* a\n * b **/ /**/ = 5;',
  'additional_plmns /**/ : ()',
  'sib12\n\n/* " */=\n{ };',
  'a = 1sib12 = { };',
  'a = 0x1ul_carrier_freq = 5;',
  'a = "x"additional_plmns = ();',
  'a = "/*"; ul_carrier_freq = 5; b = "*/";',
  'a = "//"; ul_carrier_freq = 5;',
  'a = "#"; ul_carrier_freq = 5;',
  'a = "\\"/*"; ul_carrier_freq = 5; b = "*/";',
  '// /*\nul_carrier_freq = 5; // */',
  '/* // */ ul_carrier_freq = 5;',
  '/* " */ ul_carrier_freq = 5; /* " */',
  'a = "*"; /* \\*/ ul_carrier_freq = 5;',
]
for (const text of FOREIGN) {
  overlay(`refuses ${JSON.stringify(text)} in sib.conf and rb.conf`, () => {
    assert.match(verdict('sib.conf', withSib(text)), /must not set ul_carrier_freq/)
    assert.match(verdict('rb.conf', `${rbConf()}\n${text}`), /must not set ul_carrier_freq/)
  })
}

for (const text of [
  '@include "x.conf"',
  ' \t@include "x.conf"',
  '/* */\n@include "x.conf"',
  '/* */ @include "x.conf"',
  'a = 1; @include "x.conf"',
  '@include_dir "x"',
]) {
  overlay(`refuses ${JSON.stringify(text)} in sib.conf and rb.conf`, () => {
    assert.match(verdict('sib.conf', withSib(text)), /must not include/)
    assert.match(verdict('rb.conf', `${rbConf()}\n${text}`), /must not include/)
  })
}

for (const text of [
  '/* not closed',
  'a = "not closed;',
  'a = "over\nlines";',
  '# a comment\rul_carrier_freq = 5;',
  '# a comment\u0085x',
  'a = 1;\u0000',
]) {
  overlay(`refuses ${JSON.stringify(text)}, which programs read differently`, () => {
    assert.is.not(verdict('sib.conf', withSib(text)), '')
  })
}

for (const text of [
  '# ul_carrier_freq = 24000;',
  '// additional_plmns = ( );',
  '/* sib12 =\n { }; @include "x" */',
  'note = "ul_carrier_freq = 5; @include";',
  'note = "a \\" // b";',
  'ul_carrier_freq_present = true;',
]) {
  overlay(`takes ${JSON.stringify(text)}`, () => assert.is(verdict('sib.conf', withSib(text)), ''))
}

overlay('takes what it renders itself, and names the sections that are missing or in a comment alone', () => {
  assert.is(verdict('sib.conf', PLAIN), '')
  assert.is(verdict('rb.conf', rbConf()), '')
  assert.match(verdict('sib.conf', '/* sib1 = { }; */ sib2 = { };'), /are missing: sib1$/)
  const before2204 = rbConf().replace(/five_qi_config[\s\S]*/u, '')
  assert.match(verdict('rb.conf', before2204), /are missing: five_qi_config$/)
  assert.match(
    verdict('rb.conf', 'a = "qci_config = ();"'),
    /are missing: qci_config, srb1_5g_config, srb2_5g_config, five_qi_config$/,
  )
})

const gap = fc
  .array(
    fc.oneof(
      fc.constantFrom(' ', '\t', '\n', '\r\n'),
      fc
        .string({ unit: fc.constantFrom('a', '=', '"', '/', '#', ' ', '@', '\\') })
        .map((text) => `//${text}\n`),
      fc.string({ unit: fc.constantFrom('a', '=', '"', '/', ' ', '@', '\\') }).map((text) => `#${text}\n`),
      fc
        .string({ unit: fc.constantFrom('a', '=', '"', '*', '#', '\n', '@', '\\') })
        .map((text) => `/*${text} */`),
    ),
    { minLength: 1, maxLength: 4 },
  )
  .map((parts) => parts.join(''))
const setting = fc.constantFrom(
  ['sib1', '=', '{', 'q', ':', '-65', '}', ';'],
  ['ul_carrier_freq', '=', '24000', ';'],
  ['additional_plmns', ':', '(', ')', ';'],
  ['sib10', '=', '{', '}'],
  ['note', '=', '"sib10 = /* \\" // #"', ';'],
  ['ul_carrier_freq_present', '=', 'true', ';'],
  ['@include', '"x"'],
)

overlay('says the same whatever comments and blanks are between the tokens', () => {
  const seen = new Set<string>()
  fc.assert(
    fc.property(fc.array(setting, { maxLength: 4 }), fc.infiniteStream(gap), (settings, gaps) => {
      const tokens = settings.flat()
      const plain = verdict('sib.conf', tokens.join(' '))
      const dressed = tokens.map((token) => `${gaps.next().value}${token}`).join('')
      seen.add(plain)
      assert.is(verdict('sib.conf', `${dressed}${gaps.next().value}`), plain, dressed)
    }),
    { numRuns: 500 },
  )
  assert.is(seen.size, 4)
})

for (const text of [
  ' cell_cfg:\n   dl_arfcn: 1\n',
  ' {cell_cfg: {dl_arfcn: 1}}\n',
  '\n# a comment\n  cell_cfg:\n    dl_arfcn: 1\n',
  '# a comment\u2028qos:\n cell_cfg:\n  dl_arfcn: 1\n',
  '# a comment\u0085qos:\n cell_cfg:\n  dl_arfcn: 1\n',
  '# a comment\rqos:\n cell_cfg:\n  dl_arfcn: 1\n',
  '\uFEFF cell_cfg:\n   dl_arfcn: 1\n',
  'qos:\n\u0004cell_cfg:\n',
  "'cell_cfg':\n  dl_arfcn: 1\n",
  '? cell_cfg\n: {dl_arfcn: 1}\n',
  '<<: *a\n',
  '!!map {cell_cfg: {dl_arfcn: 1}}\n',
  '&a cell_cfg: {dl_arfcn: 1}\n',
  'qos:\n  - five_qi: 9\n...\ncell_cfg:\n  dl_arfcn: 1\n',
  '%YAML 1.2\n---\ncell_cfg:\n',
  '\tcell_cfg:\n',
]) {
  overlay(`refuses ${JSON.stringify(text)} in gnb.yml`, () => assert.is.not(verdict('gnb.yml', text), ''))
}

for (const text of [
  '',
  '# nothing\n',
  '# ours\r\nqos:\r\n  # as the core has it\r\n  - five_qi: 9\r\n',
  '\n  # indented\nslicing: # ours\n  - {sst: 1, sd: 2}\n\nexpert_phy:\n  a: &x 1\n  b: *x\n',
]) {
  overlay(`takes ${JSON.stringify(text)} as gnb.yml`, () => assert.is(verdict('gnb.yml', text), ''))
}

overlay.run()
