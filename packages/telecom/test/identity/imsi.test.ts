import { createHash } from 'node:crypto'
import { assert, suite } from '@steeple/testkit'
import fc from 'fast-check'
import { imsiFrom, imsiHash, isImsiOf, parseImsi, parseImsiHash } from '../../src/identity/imsi.ts'

const imsi = suite('telecom/imsi')
const LAB = { mcc: '999', mnc: '99' }
const digits = (min: number, max: number): fc.Arbitrary<string> =>
  fc.stringMatching(new RegExp(`^[0-9]{${min},${max}}$`))

imsi('hashes the digits and keeps 12 lower-case hexadecimal characters', () => {
  // First 48 bits of SHA-256("001010123456789"), the test network's IMSI of TS 36.508 §4.9.
  assert.is(imsiHash(parseImsi('001010123456789')!), 'db59f9e0502a')
})

imsi('gives every IMSI an identifier that its own parser accepts', () => {
  fc.assert(
    fc.property(digits(6, 15), (text) => {
      const hash = imsiHash(parseImsi(text)!)
      assert.is(parseImsiHash(hash), hash)
      assert.ok(createHash('sha256').update(text).digest('hex').startsWith(hash))
    }),
  )
})

imsi('refuses what is not 6 to 15 ASCII digits', () => {
  for (const text of [
    '',
    '99999',
    '9999912345678901',
    '99999 123456',
    '99999123456x',
    '٩٩٩٩٩١٢٣٤٥',
    '999991234\n',
  ]) {
    assert.is(parseImsi(text), undefined)
  }
})

imsi('joins network and subscriber number within 15 digits', () => {
  assert.is(imsiFrom(LAB, '0000000001'), '999990000000001')
  assert.is(imsiFrom(LAB, '00000000001'), undefined)
  assert.is(imsiFrom({ mcc: '310', mnc: '410' }, '0000000001'), undefined)
  assert.is(imsiFrom(LAB, ''), undefined)
  assert.is(imsiFrom(LAB, '12a'), undefined)
})

imsi('belongs to the network it was made for', () => {
  fc.assert(
    fc.property(digits(1, 10), (msin) => {
      assert.ok(isImsiOf(LAB, imsiFrom(LAB, msin)!))
      assert.not(isImsiOf({ mcc: '998', mnc: '99' }, imsiFrom(LAB, msin)!))
    }),
  )
})

imsi('has a subscriber number after its network', () => {
  assert.not(isImsiOf({ mcc: '999', mnc: '991' }, parseImsi('999991')!))
})

imsi('refuses identifiers of another form', () => {
  for (const text of ['', '0123456789a', '0123456789abc', '0123456789AB', '0123456789ag']) {
    assert.is(parseImsiHash(text), undefined)
  }
})

imsi.run()
