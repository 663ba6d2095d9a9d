import { assert, characterAt, LAST_CHARACTER, placeOfCharacter, suite } from '@steeple/testkit'
import * as fc from 'fast-check'
import { parse } from 'yaml'
import { type YamlValue, yamlText } from '../../src/render/problems.ts'

const property = suite('southbound/yaml-text')

/** Texts that one reader or another takes for a number, a truth value, a date or nothing. */
const odd = fc.constantFrom(
  'no',
  'on',
  'null',
  '0x10',
  '1e3',
  '010',
  '08',
  'true',
  'y',
  '0b1',
  '12-30',
  'yes',
  '0o7',
)
const value: fc.Arbitrary<YamlValue> = fc.letrec<{ value: YamlValue }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.string({ unit: fc.nat(LAST_CHARACTER).map(characterAt, placeOfCharacter) }),
    odd,
    fc.integer(),
    fc.boolean(),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fc.stringMatching(/^key_[a-z_]{1,8}$/), tie('value'), { maxKeys: 4 }),
  ),
})).value

property('gives every text back as it was, in YAML 1.1 and 1.2', async () => {
  await fc.assert(
    fc.property(value, (item) => {
      const text = yamlText({ item })
      for (const version of ['1.1', '1.2'] as const) {
        assert.equal(clean(parse(text, { version })), clean({ item }))
      }
    }),
  )
})

/** Without the prototypes and the minus of zero. */
function clean(item: unknown): unknown {
  return JSON.parse(JSON.stringify(item))
}

property.run()
