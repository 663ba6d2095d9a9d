import { safeText } from '@steeple/telecom'
import { assert, suite } from '@steeple/testkit'
import fc from 'fast-check'

const safe = suite('sims/safe-text')

safe('says the numbers of limits: rates, and what is written in groups', () => {
  for (const text of [
    'an AMBR above 2147483647 bit/s must be a multiple of 1000 bit/s (above 2147483647 kbit/s of 1 Mbit/s)',
    'an AMBR can be 4000000000000 bit/s, which is 4 Tbit/s, at most',
    'a document can have 16 777 216 octets',
    'a subscriber can have 4 APNs, not 5: more stop the HSS',
  ])
    assert.is(safeText(new Error(text)), text)
})

safe('blots out what could be an IMSI or a key, whatever stands beside it', () => {
  const imsi = fc.stringMatching(/^[0-9]{6,15}$/)
  const key = fc.oneof(
    fc.stringMatching(/^[0-9a-f]{32}$/),
    fc.stringMatching(/^[0-9]{6,20}[a-f][0-9a-f]{25,40}$/),
  )
  const around = fc.constantFrom(
    '',
    ' ',
    'imsi-',
    '"',
    ':',
    ' 5 bit/s ',
    'bit/s',
    ' bits',
    '/s',
    ' kbit',
    ', 5 bit/s',
  )
  fc.assert(
    fc.property(fc.oneof(imsi, key), around, around, (secret, before, after) => {
      assert.not.match(safeText(`the HSS said ${before}${secret}${after} of it`), /\d{6,}|[0-9a-f]{12,}/)
    }),
  )
})

safe('shortens what it hands on only after that', () => {
  assert.not.match(safeText(`${'x'.repeat(190)} 999990000000001`), /\d/)
})

safe.run()
