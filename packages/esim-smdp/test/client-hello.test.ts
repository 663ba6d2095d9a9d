import { createServer } from 'node:net'
import { type ConnectionOptions, connect } from 'node:tls'
import { assert, suite } from '@steeple/testkit'
import * as fc from 'fast-check'
import { readClientHello } from '../src/listen/tls-listener.ts'

const hello = suite('esim-smdp/client-hello')

/** What node's own TLS sends first. */
async function firstWords(options: ConnectionOptions): Promise<Buffer> {
  return await new Promise((resolve) => {
    const server = createServer((socket) => {
      let octets = Buffer.alloc(0)
      socket.on('error', () => undefined)
      socket.on('data', (part) => {
        octets = Buffer.concat([octets, part])
        if (readClientHello(octets) === 'more') return
        socket.destroy()
        server.close(() => resolve(octets))
      })
    })
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      const port = typeof address === 'object' ? (address?.port ?? 0) : 0
      connect({ host: '127.0.0.1', port, rejectUnauthorized: false, ...options }).on('error', () => undefined)
    })
  })
}

hello('reads name, groups and signature schemes of a client', async () => {
  const one = readClientHello(
    await firstWords({ servername: 'SMDP.example.org', ecdhCurve: 'X25519:prime256v1:brainpoolP256r1' }),
  )
  assert.ok(one !== undefined && one !== 'more')
  assert.is(one.host, 'smdp.example.org')
  assert.equal(
    [23, 26, 29].filter((group) => !one.groups.includes(group)),
    [],
  )
  assert.ok(one.signatures.includes(0x0403))
  assert.equal(one.trustedKeys, [])
  const nameless = readClientHello(await firstWords({}))
  assert.is(nameless !== 'more' && nameless?.host, undefined)
})

hello('reads the authorities that a client believes by their keys', async () => {
  const octets = await firstWords({ servername: 'a.example.org', maxVersion: 'TLSv1.2' })
  const key = 'f54172bdf98a95d65cbeb88a38a1c11d800a85c3'
  const authorities = Buffer.from(`0003001700150${'1'}${key}`, 'hex')
  // The extension goes to the end, and the three lengths around it grow.
  const all = Buffer.concat([octets, authorities])
  const body = octets.length - 5
  all.writeUInt16BE(body + authorities.length, 3)
  all.writeUIntBE(body - 4 + authorities.length, 6, 3)
  const at = extensionsAt(octets)
  all.writeUInt16BE(octets.readUInt16BE(at) + authorities.length, at)
  const one = readClientHello(all)
  assert.equal(one !== 'more' && one?.trustedKeys, [key])
})

hello('waits for the rest, wherever the words are cut, also between records', async () => {
  const octets = await firstWords({ servername: 'a.example.org' })
  const whole = readClientHello(octets)
  for (let end = 0; end < octets.length; end++) assert.is(readClientHello(octets.subarray(0, end)), 'more')
  const message = octets.subarray(5)
  const records = [message.subarray(0, 3), message.subarray(3, 100), message.subarray(100)].map((part) =>
    Buffer.concat([octets.subarray(0, 3), Buffer.of(part.length >> 8, part.length & 0xff), part]),
  )
  assert.equal(readClientHello(Buffer.concat(records)), whole)
  assert.equal(readClientHello(Buffer.concat([octets, Buffer.from('1403030001', 'hex')])), whole)
})

hello('takes nothing else for one, and never throws', async () => {
  assert.is(readClientHello(Buffer.from('GET / HTTP/1.1\r\n\r\n')), undefined)
  assert.is(readClientHello(Buffer.alloc(40_000, 22)), undefined)
  const octets = await firstWords({ servername: 'a.example.org' })
  const mutated = fc
    .tuple(
      fc.array(fc.tuple(fc.nat(octets.length - 1), fc.nat(255)), { maxLength: 6 }),
      fc.nat(octets.length),
    )
    .map(([edits, end]) => {
      const copy = Buffer.from(octets)
      for (const [at, value] of edits) copy[at] = value
      return copy.subarray(0, end)
    })
  await fc.assert(
    fc.property(fc.oneof(mutated, fc.uint8Array({ maxLength: 200 })), (given) => {
      const one = readClientHello(given)
      assert.ok(one === undefined || one === 'more' || one.groups.length <= given.length)
    }),
    { numRuns: 5_000 },
  )
})

/** Where the length of all extensions stands. */
function extensionsAt(octets: Buffer): number {
  let at = 5 + 4 + 34
  at += 1 + octets.readUInt8(at)
  at += 2 + octets.readUInt16BE(at)
  return at + 1 + octets.readUInt8(at)
}

hello.run()
