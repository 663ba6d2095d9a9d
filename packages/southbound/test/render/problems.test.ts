import { assert, suite } from '@steeple/testkit'
import { parse } from 'yaml'
import { checkApns, checkPlmn, checkSlices, shown, yamlText } from '../../src/render/problems.ts'

const render = suite('southbound/render')

render('writes texts so that every reader of YAML gets them back as texts', () => {
  for (const text of ['05', '001', '010203', 'no', 'on', '1e3', '0x10', '~', '', '12:30:45', '- a', '# b']) {
    for (const version of ['1.1', '1.2'] as const)
      assert.equal(parse(yamlText({ a: text, list: [text] }), { version }), { a: text, list: [text] })
  }
})

render('gives each problem a line that names key, value and what is allowed', () => {
  const lines: string[] = []
  const found = (key: string, message: string): void => {
    lines.push(`${key} ${message}`)
  }
  checkPlmn({ mcc: '999', mnc: '05' }, found)
  checkApns(['internet', 'ims'], found)
  checkSlices([{ sst: 1 }, { sst: 1, sd: '010203' }], { key: 'x.slices', leastSst: 0 }, found)
  assert.equal(lines, [])
  checkPlmn({ mcc: '99', mnc: '5' }, found)
  checkApns([], found)
  checkApns(
    Array.from({ length: 17 }, (_, index) => `a${index}`),
    found,
  )
  checkSlices(
    [{ sst: 0 }, { sst: 1, sd: 'ffffff' }, { sst: 1 }],
    { key: 'y', leastSst: 1, noSd: 'ffffff' },
    found,
  )
  assert.equal(lines, [
    'plmn.mcc is "99"; allowed are 3 digits',
    'plmn.mnc is "5"; allowed are 2 or 3 digits',
    'apns has 0 entries; allowed are 1 to 16',
    'apns has 17 entries; allowed are 1 to 16',
    'y.0.sst is 0; allowed is 1 to 255',
    'y.2 is slice 1-ffffff a second time',
  ])
})

render('shows a value in one line, cut', () => {
  assert.is(shown('a\nb'), '"a\\nb"')
  assert.is(shown('x'.repeat(100)).length, 61)
})

render.run()
