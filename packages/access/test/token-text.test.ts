import { assert, characterAt, LAST_CHARACTER, placeOfCharacter, suite } from '@steeple/testkit'
import fc from 'fast-check'
import { newToken, tokenKindOf } from '../src/authenticator.ts'
import { CA_SHA256 } from './helpers.ts'

const texts = suite('access/token-text')

texts('makes api tokens of 32 random bytes', () => {
  const token = newToken('api', CA_SHA256)
  assert.match(token, /^svc_/)
  assert.is(Buffer.from(token.slice(4), 'base64url').length, 32)
  assert.is.not(newToken('api', CA_SHA256), token)
  assert.is(tokenKindOf(token), 'api')
})

texts('makes bootstrap tokens that carry 32 hex characters of the hash of the mesh CA', () => {
  const token = newToken('bootstrap', CA_SHA256)
  assert.is(token.slice(0, 38), `svcb_${CA_SHA256.slice(0, 32)}_`)
  assert.is(Buffer.from(token.slice(38), 'base64url').length, 32)
  assert.is(tokenKindOf(token), 'bootstrap')
})

texts('knows no other text as a token', () => {
  for (const text of [
    '',
    'svc_',
    'svc_short',
    `${newToken('api', CA_SHA256)}x`,
    `x${newToken('api', CA_SHA256)}`,
  ]) {
    assert.is(tokenKindOf(text), undefined)
  }
})

texts('takes for a token what it could have made, and no neighbour of it', () => {
  const anyToken = fc
    .constantFrom('api', 'bootstrap')
    .map((kind) => [kind, newToken(kind, CA_SHA256)] as const)
  const anyText = fc.string({
    unit: fc.nat(LAST_CHARACTER).map(characterAt, placeOfCharacter),
    minLength: 1,
    maxLength: 4,
  })
  fc.assert(
    fc.property(anyToken, fc.nat(), anyText, ([kind, token], at, text) => {
      const position = at % (token.length + 1)
      const longer = token.slice(0, position) + text + token.slice(position)
      const shorter = token.slice(0, position) + token.slice(position + 1)
      assert.equal([tokenKindOf(token), tokenKindOf(longer)], [kind, undefined])
      assert.ok(shorter === token || tokenKindOf(shorter) === undefined)
    }),
  )
})

texts.run()
