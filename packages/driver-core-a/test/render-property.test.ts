import { type YamlValue, yamlText } from '@steeple/southbound'
import { assert, characterAt, LAST_CHARACTER, placeOfCharacter, rounds, suite } from '@steeple/testkit'
import * as fc from 'fast-check'
import { parse } from 'yaml'
import { parseRange } from '../src/render/address-range.ts'
import { renderCore } from '../src/render/render.ts'
import { settingsWith } from './support/desired.ts'

const property = suite('driver-core-a/render properties')

const digits = (min: number, max: number) =>
  fc.array(fc.constantFrom(...'0123456789'), { minLength: min, maxLength: max }).map((all) => all.join(''))
const odd = fc.constantFrom(
  'no',
  'on',
  'yes',
  'null',
  '0x10',
  '1e3',
  '010',
  '08',
  'true',
  'y',
  '0b1',
  '12-30',
)
const apn = fc
  .oneof(odd, fc.stringMatching(/^[a-z0-9]{1,12}$/))
  .filter((text) => !/^(rac|lac|sgsn|rnc)/.test(text))
const value: fc.Arbitrary<YamlValue> = fc.letrec<{ value: YamlValue }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.string({ unit: fc.nat(LAST_CHARACTER).map(characterAt, placeOfCharacter) }),
    odd,
    fc.integer(),
    fc.boolean(),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fc.stringMatching(/^key_[a-z_]{1,8}$/), tie('value'), { maxKeys: 4 }),
  ),
})).value

property('gives every text back as it was, in YAML 1.1 and 1.2', async () => {
  await fc.assert(
    fc.property(value, (item) => {
      const text = yamlText({ item })
      for (const version of ['1.1', '1.2'] as const) {
        assert.equal(clean(parse(text, { version })), clean({ item }))
      }
    }),
  )
})

property('renders any valid network so that reading it back gives the same texts', async () => {
  await fc.assert(
    fc.property(
      digits(3, 3),
      digits(2, 3),
      fc.integer({ min: 0, max: 65_535 }),
      fc.uniqueArray(apn, { minLength: 1, maxLength: 4 }),
      fc.integer({ min: 1, max: 10_000 }),
      fc.uniqueArray(fc.tuple(fc.integer({ min: 0, max: 255 }), fc.stringMatching(/^[0-9a-f]{6}$/)), {
        minLength: 1,
        maxLength: 8,
        selector: ([sst, sd]) => `${sst}-${sd}`,
      }),
      (mcc, mnc, tac, apns, maxUes, slices) => {
        const settings = settingsWith({ slices: slices.map(([sst, sd]) => ({ sst, sd })) })
        const addresses = { mme: '127.0.0.2', amf: '127.0.0.5' }
        const { files } = renderCore({ plmn: { mcc, mnc }, tac, apns, maxUes, addresses }, settings)
        for (const version of ['1.1', '1.2'] as const) {
          const read = (name: string) => parse(String(files.get(`${name}.yaml`)), { version })
          const { mme, global } = read('mme')
          const { amf } = read('amf')
          assert.equal(mme.gummei[0].plmn_id, { mcc, mnc })
          assert.equal(mme.tai[0], { plmn_id: { mcc, mnc }, tac: String(tac) })
          assert.equal(amf.plmn_support[0].s_nssai, settings.slices)
          assert.equal(read('nrf').nrf.serving, [{ plmn_id: { mcc, mnc } }])
          assert.ok(global.max.ue >= 1024 && global.max.ue >= Math.min(2 * maxUes, maxUes + 8_192))
          const { session } = read('smf').smf
          assert.equal(session.map(({ dnn }: { dnn: string }) => dnn).toSorted(), apns.toSorted())
          assert.equal(
            session,
            read('upf').upf.session.map(({ dev: _dev, ...rest }: { dev: string }) => rest),
          )
        }
      },
    ),
    { numRuns: rounds(15) },
  )
})

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

/** Without the prototypes and the minus of zero. */
function clean(item: unknown): unknown {
  return JSON.parse(JSON.stringify(item))
}

property.run()
