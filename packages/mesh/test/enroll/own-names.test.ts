import { assert, suite } from '@steeple/testkit'
import { certifiedAddresses } from '../../src/enroll/own-names.ts'

const names = suite('mesh/own-names')
const LOOPBACK = ['127.0.0.1', '::1']
const OTHER = {
  node_id: 'other',
  address: '[2001:db8::7]:8443',
  seen_address: '203.0.113.5',
  overlay_address: '100.64.9.9',
}

names("certifies where a node was seen, and no address that is somebody else's", () => {
  const certified = (...seen: readonly string[]) =>
    certifiedAddresses(
      'one',
      seen,
      [OTHER, { ...OTHER, node_id: 'one', seen_address: '192.0.2.9' }],
      ['198.51.100.1'],
    )
  assert.equal(certified('::ffff:192.0.2.9'), [...LOOPBACK, '192.0.2.9'])
  assert.equal(certified('192.0.2.10', '100.64.0.7'), [...LOOPBACK, '192.0.2.10', '100.64.0.7'])
  for (const taken of ['203.0.113.5', '100.64.9.9', '2001:db8::7', '198.51.100.1', '::ffff:198.51.100.1'])
    assert.equal(certified(taken), LOOPBACK, taken)
  assert.equal(certified('bank.example'), LOOPBACK)
})

names.run()
