import { assert, suite } from '@steeple/testkit'
import { isSameSha256, newToken, tokenKindOf, tokenSha256 } from '../src/token-text.ts'
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

texts('compares hashes by value', () => {
  assert.ok(isSameSha256(tokenSha256('a'), tokenSha256('a')))
  assert.not.ok(isSameSha256(tokenSha256('a'), tokenSha256('b')))
  assert.not.ok(isSameSha256(tokenSha256('a'), ''))
})

texts.run()
