import { type Reach, reachOf } from '@steeple/contracts'
import { assert, suite } from '@steeple/testkit'
import fc from 'fast-check'
import { refuseForbidden } from '../src/webhooks/judge.ts'

const addresses = suite('alerts/addresses')

const KNOWN: Readonly<Record<Reach, readonly string[]>> = {
  public: [
    '1.1.1.1',
    '8.8.8.8',
    '2606:4700:4700::1111',
    '64:ff9b::808:808',
    '::ffff:8.8.8.8',
    '169.253.255.255',
  ],
  private: [
    '127.0.0.1',
    '127.255.255.255',
    '10.0.0.1',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '100.64.0.1',
    '::1',
    'fd00::1',
    '::ffff:127.0.0.1',
    '::ffff:c0a8:101',
    '64:ff9b::7f00:1',
    '::7f00:1',
    '::ffff:0:7f00:1',
    '3fff::1',
  ],
  forbidden: [
    '169.254.169.254',
    '169.254.0.1',
    '::ffff:169.254.169.254',
    '::ffff:a9fe:a9fe',
    '0:0:0:0:0:ffff:a9fe:a9fe',
    '64:ff9b::a9fe:a9fe',
    '64:ff9b::169.254.169.254',
    '::a9fe:a9fe',
    '::ffff:0:a9fe:a9fe',
    '::ffff:0:169.254.169.254',
    '4000::1',
    '1::1',
    '2002:a9fe:a9fe::1',
    '2001:0:1::1',
    'fe80::1',
    'fe80::1%eth0',
    'febf::1',
    'fd00:ec2::254',
    '100.100.100.200',
    '168.63.129.16',
    '192.0.0.192',
    '0.0.0.0',
    '0.1.2.3',
    '::',
    '224.0.0.1',
    '255.255.255.255',
    'ff02::1',
    '127.1',
    '0x7f000001',
    'example.org',
    '',
  ],
}

addresses('tells those of the internet, of private networks and those never to be spoken to apart', () => {
  for (const [reach, list] of Object.entries(KNOWN))
    for (const address of list) assert.is(reachOf(address), reach, address)
})

addresses('sees through every way of writing an IPv4 address in an IPv6 one', () => {
  fc.assert(
    fc.property(fc.ipV4(), (address) => {
      const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number)
      const hex = `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`
      for (const prefix of ['::ffff:', '0:0:0:0:0:ffff:', '64:ff9b::', '::ffff:0:'])
        for (const form of [address, hex]) assert.is(reachOf(prefix + form), reachOf(address), prefix + form)
    }),
  )
})

addresses('refuses a name of which one address may not be connected to, whatever the others are', () => {
  const both = [
    { address: '1.1.1.1', family: 4 },
    { address: '169.254.169.254', family: 4 },
  ] as const
  for (const allowPrivate of [true, false])
    assert.throws(() => refuseForbidden(both, allowPrivate), /169\.254\.169\.254 is link-local/)
  const own = [{ address: '192.168.0.9', family: 4 }] as const
  assert.throws(() => refuseForbidden(own, false), /allow_private: true/)
  refuseForbidden(own, true)
})

addresses.run()
