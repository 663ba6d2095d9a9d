import { assert, suite } from '@steeple/testkit'
import { COUNTRY_CODES, isCountryCode } from '../../src/bundle/country-codes.ts'

const codes = suite('policy/country-codes')

codes('are the 249 assigned codes, in order, each once', () => {
  assert.is(COUNTRY_CODES.length, 249)
  assert.equal([...new Set(COUNTRY_CODES)].sort(), COUNTRY_CODES)
})

codes('have a name in the CLDR', () => {
  const names = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' })
  for (const code of COUNTRY_CODES) assert.ok(names.of(code), code)
})

codes('are not the lab, nothing, a lower-case or a user-assigned code', () => {
  for (const text of ['LAB', '', 'de', 'XX', 'ZZ', 'EU', 'D']) assert.not(isCountryCode(text), text)
})

codes.run()
