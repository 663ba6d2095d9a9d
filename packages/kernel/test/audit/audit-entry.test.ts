import { assert, suite } from '@steeple/testkit'
import fc from 'fast-check'
import { canonicalJson } from '../../src/audit/audit-chain.ts'

const canonical = suite('audit/audit-entry')

canonical('gives one text for one value, whatever the order of its keys', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
      const turned = Object.fromEntries(Object.entries(value).toReversed())
      assert.is(canonicalJson(turned), canonicalJson(value))
    }),
  )
})

canonical('gives other texts for other values', () => {
  const values = [{ a: 1 }, { a: '1' }, { a: [1] }, { a: { b: 1 } }, { b: 1 }, { a: null }, {}]
  assert.is(new Set(values.map((value) => canonicalJson(value))).size, values.length)
})

canonical.run()
