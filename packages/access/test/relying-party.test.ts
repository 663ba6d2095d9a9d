import { isServiceError } from '@steeple/contracts'
import { assert, suite } from '@steeple/testkit'
import { relyingPartyOf } from '../src/passkeys/relying-party.ts'

const party = suite('access/relying-party')

function refusal(origin: string | undefined, host: string | undefined): string {
  try {
    relyingPartyOf(origin, host)
  } catch (error) {
    assert.ok(isServiceError(error) && error.code === 'passkey_unavailable')
    return (error as Error).message
  }
  throw new Error(`${origin} asked as ${host} is taken`)
}

party('is the host name of a page over TLS, or of this machine', () => {
  for (const [origin, host, id] of [
    ['https://box.local', 'box.local', 'box.local'],
    ['https://box.local:8443', 'BOX.local:8443', 'box.local'],
    ['https://box', 'box', 'box'],
    ['http://localhost:8080', 'localhost:8080', 'localhost'],
    ['https://localhost', 'localhost', 'localhost'],
  ] as const) {
    assert.equal(relyingPartyOf(origin, host), { id, origin })
  }
})

party('is never an address, and says what works in its place', () => {
  for (const [origin, host] of [
    ['https://192.0.2.1', '192.0.2.1'],
    ['http://127.0.0.1:8080', '127.0.0.1:8080'],
    ['https://[2001:db8::1]:8443', '[2001:db8::1]:8443'],
    ['https://0x7f.1', '127.0.0.1'],
  ] as const) {
    assert.match(refusal(origin, host), /password and code|no Origin|say their Origin/)
  }
  assert.match(refusal('https://192.0.2.1', '192.0.2.1'), /192\.0\.2\.1 is an address.*password and code/)
})

party('is not the page of another site, nor one without TLS, nor no page at all', () => {
  assert.match(refusal('https://evil.example', 'box.local'), /of evil\.example .* asked as box\.local/)
  assert.match(refusal('https://box.local:444', 'box.local'), /asked as box\.local/)
  assert.match(refusal('https://box.local', undefined), /asked as nobody/)
  assert.match(refusal('http://box.local', 'box.local'), /https:\/\/box\.local/)
  for (const origin of [undefined, 'null', '', 'https://box.local/path', 'file://', 'https://a@box.local'])
    assert.match(refusal(origin, 'box.local'), /Origin|https/)
})

party.run()
