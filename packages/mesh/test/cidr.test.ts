import { assert, suite } from '@steeple/testkit'
import fc from 'fast-check'
import {
  addressText,
  cidrText,
  contains,
  hostCidr,
  networkOf,
  overlaps,
  parseCidr,
} from '../src/peers/cidr.ts'
import { endpointText, hostPort, parseEndpoint, parseHostPort } from '../src/peers/endpoint.ts'

const cidr = suite('mesh/cidr')

const NETWORK_4 = fc
  .tuple(fc.ipV4(), fc.integer({ min: 0, max: 32 }))
  .map(([address, prefix]) => networkOf(`${address}/${prefix}`))
const NETWORK_6 = fc
  .tuple(fc.ipV6(), fc.integer({ min: 0, max: 128 }))
  .map(([address, prefix]) => networkOf(`${address}/${prefix}`))
const NETWORK = fc.oneof(NETWORK_4, NETWORK_6).filter((network) => network !== undefined)

cidr('writes each network in one way and reads it again', () => {
  fc.assert(
    fc.property(NETWORK, (network) => {
      const text = cidrText(network)
      assert.equal(parseCidr(text), network)
      assert.is(cidrText(parseCidr(text) ?? network), text)
    }),
  )
})

cidr('says that networks overlap exactly when one contains the other', () => {
  fc.assert(
    fc.property(NETWORK, NETWORK, (one, other) => {
      assert.is(overlaps(one, other), overlaps(other, one))
      assert.is(overlaps(one, other), contains(one, other) || contains(other, one))
    }),
  )
})

cidr('finds each address in every network around it and in no other', () => {
  fc.assert(
    fc.property(fc.ipV4(), fc.ipV4(), fc.integer({ min: 1, max: 32 }), (inside, other, prefix) => {
      const network = networkOf(`${inside}/${prefix}`)
      const host = hostCidr(inside)
      const third = hostCidr(other)
      if (network === undefined || host === undefined || third === undefined) throw new Error('no network')
      assert.ok(contains(network, host))
      const bitsOf = (address: string): string =>
        address
          .split('.')
          .map((part) => Number(part).toString(2).padStart(8, '0'))
          .join('')
      assert.is(contains(network, third), bitsOf(other).slice(0, prefix) === bitsOf(inside).slice(0, prefix))
      assert.is(addressText(host), inside)
    }),
  )
})

cidr('refuses what is no network, or means another one', () => {
  for (const text of [
    '',
    '10.0.0.0',
    '10.0.0.1/8',
    '10.0.0.0/33',
    '10.0.0.0/08',
    '10.0.0.0/8/8',
    '10.0.0/8',
    '2001:db8::1/32',
    '2001:db8::/129',
    'fe80::%eth0/64',
    '::1',
    ' 10.0.0.0/8',
  ])
    assert.is(parseCidr(text), undefined, text)
})

cidr('takes any text for what it is', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      const network = parseCidr(text)
      if (network !== undefined) assert.equal(parseCidr(cidrText(network)), network)
      const endpoint = parseHostPort(text)
      if (endpoint !== undefined) assert.equal(parseHostPort(hostPort(endpoint)), endpoint)
    }),
  )
})

cidr('reads endpoints with names and addresses of both versions', () => {
  for (const text of [
    'wg://192.0.2.1:51820',
    'wg://[2001:db8::1]:51820',
    'wg://box.example.net:1',
    'wg://box_1:65535',
  ]) {
    const endpoint = parseEndpoint(text)
    assert.ok(endpoint, text)
    assert.is(endpoint && endpointText(endpoint), text)
  }
  for (const text of [
    'udp://192.0.2.1:51820',
    'wg://192.0.2.1',
    'wg://192.0.2.1:0',
    'wg://192.0.2.1:65536',
    'wg://192.0.2.1:051',
    'wg://192.0.2.256:1',
    'wg://2001:db8::1:51820',
    'wg://[192.0.2.1]:1',
    'wg://-box:1',
    'wg://bo x:1',
    'wg://:1',
    'wg://[fe80::1%eth0]:1',
  ])
    assert.is(parseEndpoint(text), undefined, text)
})

cidr.run()
