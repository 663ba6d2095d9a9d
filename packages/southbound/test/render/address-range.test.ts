import { assert, rounds, suite } from '@steeple/testkit'
import * as fc from 'fast-check'
import { parseRange } from '../../src/render/address-range.ts'

const property = suite('southbound/address-range')

property('has in a range its addresses, its gateway and nothing before it', async () => {
  await fc.assert(
    fc.property(fc.ipV4(), fc.integer({ min: 8, max: 30 }), (address, prefix) => {
      const range = parseRange(`${address}/${prefix}`)
      assert.ok(range?.has(address) && range.has(range.gateway) && range.has(range.network))
      assert.is(range?.parts(1).sessions, 2 ** (32 - prefix) - 3)
    }),
  )
  await fc.assert(
    fc.property(fc.ipV6(), fc.integer({ min: 16, max: 62 }), (address, prefix) => {
      const range = parseRange(`${address}/${prefix}`)
      assert.ok(range?.has(address) && range.has(range.gateway), address)
    }),
  )
})

property('divides a range so that the core hands out no address twice, and as many as promised', async () => {
  const cases = fc.tuple(fc.ipV4(), fc.integer({ min: 20, max: 28 }), fc.integer({ min: 1, max: 4 }))
  await fc.assert(
    fc.property(cases, ([address, prefix, count]) => {
      const range = parseRange(`${address}/${prefix}`)
      if (range === undefined) throw new Error('it is a range')
      const { bounds, sessions } = range.parts(count)
      assert.is(bounds.length, count)
      const all = bounds.map((part) => handedOut(part, [range.network, range.gateway]))
      assert.is(Math.min(...all.map(({ length }) => length)), sessions)
      assert.is(new Set(all.flat()).size, all.flat().length)
      assert.ok(all.flat().every((one) => range.has(one)))
    }),
    { numRuns: rounds(15) },
  )
  assert.equal(parseRange('2001:db8:cafe::/48')?.parts(2), {
    bounds: [
      { low: '2001:db8:cafe::', high: '2001:db8:cafe:7ffe::' },
      { low: '2001:db8:cafe:8000::', high: '2001:db8:cafe:fffe::' },
    ],
    sessions: 32_766,
  })
})

/** What the core's pool holds for a part: it adds to four octets at once, whose carries go astray. */
function handedOut(
  { low, high }: { readonly low: string; readonly high: string },
  excluded: readonly string[],
): readonly string[] {
  const octets = (address: string) => Buffer.from(address.split('.').map(Number))
  const plus = (address: string, count: number): string => {
    const sum = octets(address)
    const more = Buffer.alloc(4)
    more.writeUInt32BE(count)
    sum.writeUInt32LE((sum.readUInt32LE() + more.readUInt32LE()) % 2 ** 32)
    return [...sum].join('.')
  }
  const end = plus(high, 1)
  const found: string[] = []
  for (let count = 0; plus(low, count) !== end; count += 1) {
    const address = plus(low, count)
    if (!excluded.includes(address)) found.push(address)
  }
  return found
}

property('takes no text for a range that is none', async () => {
  await fc.assert(
    fc.property(fc.string(), (text) => {
      const range = parseRange(text)
      assert.ok(range === undefined || text.includes('/'))
    }),
  )
})

property.run()
