import { assert, suite } from '@steeple/testkit'
import { readElements } from '../src/profile/read.ts'
import { IDENTITY, loadTemplate, personalised } from '../src/profile/template.ts'
import { readTemplate } from '../src/profile/template-file.ts'
import { BUNDLED, FACTS, fixture, hex } from './support/profiles.ts'

const profiles = suite('esim-smdp/personalise')

profiles('writes the known answer of others, octet for octet', () => {
  const elements = readElements(BUNDLED).map(({ piece }) => piece)
  assert.is(hex(personalised(elements, FACTS, IDENTITY)), hex(fixture('perso-v7.der')))
})

profiles('writes the same octets for the same facts, and what it always wrote', () => {
  const template = loadTemplate(BUNDLED)
  const first = template.personalise(FACTS)
  assert.is(hex(first), hex(fixture('whole-v7.der')))
  template.personalise({ ...FACTS, imsi: '001010123456063', spn: 'Other' })
  assert.is(hex(template.personalise(FACTS)), hex(first))
  assert.is(hex(readTemplate('').personalise(FACTS)), hex(first))
})

profiles.run()
