import { routesIn } from '@steeple/contracts'
import { assert, suite } from '@steeple/testkit'
import fc from 'fast-check'
import { cidrText } from '../../src/peers/cidr.ts'

const reading = suite('mesh/breakout/routing-table')

const HEAD = 'Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT'

reading('reads routes of IPv4 as the kernel writes them, without those that are down or refuse', () => {
  const text = [
    HEAD,
    'eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0      ',
    'eth0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0      ',
    'ogstun\t00002D0A\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0    ',
    'eth1\t00002E0A\t00000000\t0000\t0\t0\t0\t0000FFFF\t0\t0\t0      ',
    '*\t00002F0A\t00000000\t0201\t0\t0\t0\t0000FFFF\t0\t0\t0         ',
    '',
  ].join('\n')
  assert.equal(
    routesIn(text, '').map(({ network, device }) => `${cidrText(network)} ${device}`),
    ['0.0.0.0/0 eth0', '192.0.2.0/24 eth0', '10.45.0.0/16 ogstun'],
  )
})

reading('reads routes of IPv6 without loopback and link-local ones', () => {
  const none = '0'.repeat(32)
  const line = (network: string, prefix: string, flags: string, device: string): string =>
    `${network} ${prefix} ${none} 00 ${none} 00000400 00000003 00000000 ${flags} ${device}`
  const text = [
    line('fd000045000000000000000000000000', '30', '00000001', 'ogstun'),
    line('fe800000000000000000000000000000', '40', '00000001', 'eth0'),
    line('ff000000000000000000000000000000', '08', '00000001', 'eth0'),
    line(none, '00', '00000003', 'eth0'),
    line(none, '00', '00200200', 'lo'),
  ].join('\n')
  assert.equal(
    routesIn('', text).map(({ network, device }) => `${cidrText(network)} ${device}`),
    ['fd00:45::/48 ogstun', '::/0 eth0'],
  )
})

reading('makes nothing of what is no table', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      assert.equal(routesIn(`${HEAD}\n${text}`, text), [])
    }),
  )
})

reading.run()
