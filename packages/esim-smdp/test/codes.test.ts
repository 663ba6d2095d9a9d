import { escapedHtml } from '@steeple/telecom'
import { assert, characterAt, LAST_CHARACTER, placeOfCharacter, suite } from '@steeple/testkit'
import fc from 'fast-check'
import { activationCode, base32, drawMatchingId, drawToken, qrText } from '../src/codes/activation.ts'
import { qrPath } from '../src/codes/qr.ts'
import { mediaTypeFor } from '../src/routes/code-routes.ts'

const codes = suite('esim-smdp/codes')

codes('draws matching ids of 130 bits that LPAs take', () => {
  const drawn = Array.from({ length: 2_000 }, drawMatchingId)
  assert.is(new Set(drawn).size, drawn.length)
  for (const id of drawn) assert.match(id, /^[0-9A-Z]{26}$/)
  // Each character stands for five bits: all 32 come.
  assert.is(new Set(drawn.join('')).size, 32)
  assert.match(drawToken(), /^e-[0-9a-z]{20}$/)
  assert.is(base32(Uint8Array.of(0, 31, 32, 255)), '0Z0Z')
})

codes('writes activation codes with and without a confirmation code', () => {
  assert.is(activationCode('smdp.example.org', 'ABC-1', false), 'LPA:1$smdp.example.org$ABC-1')
  assert.is(activationCode('smdp.example.org:8443', 'ABC-1', true), 'LPA:1$smdp.example.org:8443$ABC-1$$1')
})

codes('keeps the text of a QR code in the set that is stored in fewest modules', () => {
  const host = fc.domain()
  fc.assert(
    fc.property(host, fc.boolean(), (address, isConfirmed) => {
      const text = qrText(activationCode(address, drawMatchingId(), isConfirmed))
      assert.match(text, /^[0-9A-Z $%*+\-./:]+$/)
    }),
  )
  assert.is(qrText('LPA:1$a.example$aB-1$$1'), 'LPA:1$A.EXAMPLE$aB-1$$1')
  assert.is(qrPath(qrText(activationCode('smdp.example.org', drawMatchingId(), true))).modules, 29)
})

codes('writes no character into HTML that ends a text or an attribute', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.nat(LAST_CHARACTER).map(characterAt, placeOfCharacter) }), (text) => {
      assert.not.match(escapedHtml(text), /[<>"']|&(?!(amp|lt|gt|quot|#39);)/)
    }),
  )
})

codes('takes the media type that is asked for most', () => {
  const types = ['image/svg+xml', 'image/png', 'application/json'] as const
  for (const [accept, type] of [
    [undefined, 'image/svg+xml'],
    ['', 'image/svg+xml'],
    ['*/*', 'image/svg+xml'],
    ['image/png', 'image/png'],
    ['image/png;q=0.5, application/json', 'application/json'],
    ['image/*;q=0.5, image/svg+xml;q=0, application/json;q=0.1', 'image/png'],
    ['text/html, */*;q=0.1', 'image/svg+xml'],
    ['APPLICATION/JSON', 'application/json'],
    ['text/html', undefined],
    ['image/png;q=0', undefined],
    ['image/png;q=x', undefined],
  ] as const)
    assert.is(mediaTypeFor(accept, types), type, String(accept))
})

codes.run()
