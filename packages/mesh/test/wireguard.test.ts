import { assert, suite } from '@steeple/testkit'
import fc from 'fast-check'
import { parseDump } from '../src/wireguard/dump.ts'
import { isKey, newKeyPair, newPresharedKey, pskDigest, publicKeyOf } from '../src/wireguard/keys.ts'
import { parseLink, parseRoutes } from '../src/wireguard/system-link.ts'

const wireguard = suite('mesh/wireguard')

wireguard('makes public keys as wg pubkey does', () => {
  // Made by wireguard-tools 1.0.20210914: `wg genkey`, `wg pubkey`.
  assert.is(
    publicKeyOf('cFvoo/7rtJQluJjUK2TSEajc98nCKppGKYT/f0mW9nY='),
    'bm0xP2aToHxPBYClSlxHdvqFzx1PHAxGK5LxKd65qFE=',
  )
})

wireguard('reads what wg show dump prints, and keeps neither private nor preshared key', () => {
  const own = newKeyPair()
  const peers = [newKeyPair().publicKey, newKeyPair().publicKey]
  const psk = newPresharedKey()
  const text = [
    `${own.privateKey}\t${own.publicKey}\t51820\toff`,
    `${peers[0]}\t(none)\t192.0.2.2:51820\t100.64.0.2/32,10.0.0.0/8\t1795357001\t180\t272\t25`,
    `${peers[1]}\t${psk}\t(none)\t(none)\t0\t0\t0\toff`,
    '',
  ].join('\n')
  const seen = parseDump(text)
  assert.equal(seen, {
    publicKey: own.publicKey,
    listenPort: 51_820,
    peers: [
      {
        publicKey: peers[0],
        pskSha256: undefined,
        endpoint: '192.0.2.2:51820',
        allowedIps: ['100.64.0.2/32', '10.0.0.0/8'],
        handshakeAtS: 1_795_357_001,
        rxBytes: 180,
        txBytes: 272,
        keepaliveS: 25,
      },
      {
        publicKey: peers[1],
        pskSha256: pskDigest(psk),
        endpoint: undefined,
        allowedIps: [],
        handshakeAtS: undefined,
        rxBytes: 0,
        txBytes: 0,
        keepaliveS: undefined,
      },
    ],
  })
  const kept = JSON.stringify(seen)
  assert.not.ok(kept.includes(own.privateKey) || kept.includes(psk))
})

wireguard('reads an interface without a key, and nothing out of any other text', () => {
  assert.equal(parseDump('(none)\t(none)\t0\toff\n'), { publicKey: undefined, listenPort: 0, peers: [] })
  for (const text of ['', 'x', '(none)\t(none)\tx\toff', '(none)\t(none)\t0\toff\nshort\t(none)'])
    assert.is(parseDump(text), undefined, text)
  fc.assert(
    fc.property(fc.string(), (text) => {
      parseDump(text)
    }),
  )
})

wireguard('knows keys from what looks like them', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (octets) => {
      assert.ok(isKey(Buffer.from(octets).toString('base64')))
    }),
  )
  const { publicKey } = newKeyPair()
  // The last character of 32 octets has two bits that must be zero.
  for (const text of [publicKey.slice(1), `${publicKey}=`, `${'A'.repeat(42)}B=`, `${'A'.repeat(43)}!`, ''])
    assert.not.ok(isKey(text), text)
})

wireguard('reads the mark, addresses and routes that ip tells of', () => {
  const link = JSON.stringify([
    {},
    {
      ifname: 'svcmesh0',
      flags: ['POINTOPOINT', 'UP', 'LOWER_UP'],
      ifalias: 'steeple x',
      addr_info: [
        { family: 'inet', local: '100.64.0.1', prefixlen: 32, scope: 'global' },
        { family: 'inet6', local: 'fe80::1', prefixlen: 64, scope: 'link' },
      ],
    },
  ])
  assert.equal(parseLink(link), { mark: 'steeple x', isUp: true, addresses: ['100.64.0.1/32'] })
  assert.is(parseLink('[]'), undefined)
  const routes = JSON.stringify([
    { dst: '10.9.0.0/16' },
    { dst: '100.64.0.2' },
    { dst: 'default' },
    { gateway: 'x' },
  ])
  assert.equal(parseRoutes(routes, 4), ['10.9.0.0/16', '100.64.0.2/32', '0.0.0.0/0'])
  assert.equal(parseRoutes('[{"dst":"2001:db8::/32"},{"dst":"default"}]', 6), ['2001:db8::/32', '::/0'])
  assert.equal(parseRoutes('', 6), [])
})

wireguard.run()
