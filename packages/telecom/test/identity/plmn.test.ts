import { assert, suite } from '@steeple/testkit'
import fc from 'fast-check'
import { formatPlmn, isMcc, isMnc, parsePlmn } from '../../src/identity/imsi.ts'

const plmn = suite('telecom/plmn')
const mcc = fc.stringMatching(/^[0-9]{3}$/)
const mnc = fc.stringMatching(/^[0-9]{2,3}$/)

plmn('parses what it formats, leading zeros included', () => {
  fc.assert(
    fc.property(mcc, mnc, (country, code) => {
      const network = { mcc: country, mnc: code }
      assert.equal(parsePlmn(formatPlmn(network)), network)
      assert.ok(isMcc(network.mcc) && isMnc(network.mnc))
    }),
  )
})

plmn('formats what it parses and parses nothing else', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      const parsed = parsePlmn(text)
      assert.ok(parsed === undefined || formatPlmn(parsed) === text)
    }),
  )
})

plmn('keeps 01 and 001 apart', () => {
  assert.equal(parsePlmn('001-01'), { mcc: '001', mnc: '01' })
  assert.equal(parsePlmn('001-001'), { mcc: '001', mnc: '001' })
})

plmn('refuses other forms', () => {
  for (const text of ['', '99999', '999-9', '999-9999', '99-99', '999 99', '999-99 ', '999-9x', '999-99\n']) {
    assert.is(parsePlmn(text), undefined, JSON.stringify(text))
  }
  assert.not(isMcc('99'))
  assert.not(isMnc('9'))
  assert.not(isMnc('9999'))
})

plmn.run()
