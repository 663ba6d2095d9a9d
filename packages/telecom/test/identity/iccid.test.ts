import { assert, suite } from '@steeple/testkit'
import fc from 'fast-check'
import { luhnCheckDigit, parseIccid } from '../../src/card/card-octets.ts'

const iccid = suite('telecom/iccid')
const body = fc.stringMatching(/^89[0-9]{16,17}$/)

iccid('computes the check digit of known numbers', () => {
  // 7992739871 is the usual worked example of the formula; the others follow from it by hand.
  assert.is(luhnCheckDigit('7992739871'), 3)
  assert.is(luhnCheckDigit('0'), 0)
  assert.is(luhnCheckDigit('1'), 8)
  assert.is(luhnCheckDigit('5'), 9)
  assert.is(luhnCheckDigit(''), undefined)
  assert.is(luhnCheckDigit('12a'), undefined)
})

iccid('completes 18 or 19 digits to a number that it parses', () => {
  fc.assert(
    fc.property(body, (text) => {
      const made = `${text}${luhnCheckDigit(text)}`
      assert.is(parseIccid(made), made)
    }),
  )
})

iccid('notices every single wrong digit', () => {
  fc.assert(
    fc.property(body, fc.nat(), fc.integer({ min: 1, max: 9 }), (text, at, by) => {
      const made = `${text}${luhnCheckDigit(text)}`
      const place = 2 + (at % (made.length - 2))
      const wrong = String((Number(made[place]) + by) % 10)
      assert.is(parseIccid(`${made.slice(0, place)}${wrong}${made.slice(place + 1)}`), undefined)
    }),
  )
})

iccid('refuses other lengths, other beginnings and non-digits', () => {
  for (const text of ['', '89', '88000000000000000', '12345678901234567', '8988211000000000000a'])
    assert.is(parseIccid(text), undefined)
})

iccid.run()
