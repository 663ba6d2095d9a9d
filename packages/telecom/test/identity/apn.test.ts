import { assert, suite } from '@steeple/testkit'
import fc from 'fast-check'
import { apnProblem, parseApn } from '../../src/identity/apn.ts'

const apn = suite('telecom/apn')
const label = fc.stringMatching(/^[A-Za-z0-9]([A-Za-z0-9-]{0,8}[A-Za-z0-9])?$/)

apn('accepts labels of letters, digits and inner hyphens', () => {
  for (const text of ['internet', 'ims', 'IoT-1.example.com', '5g', 'a', 'gprs', 'x'.repeat(62)]) {
    assert.is(parseApn(text), text, text)
  }
})

apn('accepts every row of such labels that is short enough and not reserved', () => {
  fc.assert(
    fc.property(fc.array(label, { minLength: 1, maxLength: 5 }), (labels) => {
      const text = `x${labels.join('.')}`
      const isOperator = text.toLowerCase().endsWith('.gprs')
      assert.is(parseApn(text), isOperator ? undefined : text)
    }),
  )
})

apn('never takes a character outside of the alphabet, wherever it stands', () => {
  fc.assert(
    fc.property(
      fc.string(),
      fc.constantFrom('_', ' ', '/', 'é', '\n', '*', ':'),
      fc.string(),
      (a, bad, b) => {
        assert.is(parseApn(`${a}${bad}${b}`), undefined)
      },
    ),
  )
})

apn('says what is wrong', () => {
  assert.is(apnProblem(''), 'is empty')
  assert.is(apnProblem('*'), 'is the wildcard, which names no APN')
  assert.is(apnProblem('a..b'), 'has an empty label')
  assert.is(apnProblem('.a'), 'has an empty label')
  assert.is(apnProblem('a.'), 'has an empty label')
  assert.is(apnProblem('a.-b'), 'has the label "-b", which is not letters, digits and inner hyphens')
  assert.is(apnProblem('b-'), 'has the label "b-", which is not letters, digits and inner hyphens')
  assert.is(apnProblem('x'.repeat(63)), 'takes more than 63 octets')
  assert.is(apnProblem('mnc099.mcc999.GPRS'), 'ends in ".gprs", which marks an operator identifier')
  assert.is(apnProblem('internet'), undefined)
})

apn('refuses the reserved beginnings in any case', () => {
  for (const start of ['rac', 'LAC', 'sgsn', 'Rnc']) {
    assert.is(apnProblem(`${start}1`), `starts with "${start.toLowerCase()}", which is reserved`)
  }
})

apn.run()
