import { rangeText } from '@steeple/southbound'
import { assert, rounds, suite } from '@steeple/testkit'
import * as fc from 'fast-check'
import { parse } from 'yaml'
import { parseIpv4Range, partsOf, phonesIn, prefixFor } from '../../src/render/pools.ts'
import { renderCore } from '../../src/render/render.ts'
import { desiredWith, settingsWith } from '../support/desired.ts'

const property = suite('driver-core-b/render properties')

const digits = (min: number, max: number) =>
  fc.array(fc.constantFrom(...'0123456789'), { minLength: min, maxLength: max }).map((all) => all.join(''))
const hex = fc.array(fc.constantFrom(...'0123456789abcdefABCDEF'), { minLength: 6, maxLength: 6 })
/** Texts that one reader or another takes for a number, a truth value, a date or nothing. */
const odd = fc.constantFrom(
  'no',
  'on',
  'null',
  '0x10',
  '1e3',
  '010',
  '08',
  'true',
  'y',
  '0b1',
  '12-30',
  '0o7',
)
const apn = fc
  .oneof(odd, fc.stringMatching(/^[a-z0-9]{1,12}$/))
  .filter((text) => !/^(rac|lac|sgsn|rnc)/.test(text))
property('renders any valid network so that reading it back gives the same texts', async () => {
  await fc.assert(
    fc.property(
      digits(3, 3),
      digits(2, 3),
      fc.integer({ min: 1, max: 0xfffffd }),
      fc.uniqueArray(apn, { minLength: 1, maxLength: 4 }),
      fc.oneof(
        hex.map((all) => all.join('')),
        fc.constantFrom('010203', '1e3000', '000001', '00000e'),
      ),
      (mcc, mnc, tac, apns, sd) => {
        const { files } = renderCore(
          desiredWith({ plmn: { mcc, mnc }, tac, apns, maxUes: 1000 }),
          settingsWith({ core_b: { slices: [{ sst: 1, sd }] } }),
        )
        for (const version of ['1.1', '1.2'] as const) {
          const read = (name: string) => parse(files.get(name) ?? '', { version }).configuration
          const amf = read('amfcfg.yaml')
          assert.equal(amf.supportTaiList, [{ plmnId: { mcc, mnc }, tac: tac.toString(16).padStart(6, '0') }])
          assert.equal(amf.plmnSupportList, [{ plmnId: { mcc, mnc }, snssaiList: [{ sst: 1, sd }] }])
          assert.equal(amf.supportDnnList, apns)
          assert.equal(read('ausfcfg.yaml').plmnSupportList, [{ mcc, mnc }])
          assert.equal(read('nrfcfg.yaml').DefaultPlmnId, { mcc, mnc })
          assert.equal(read('smfcfg.yaml').snssaiInfos[0].sNssai, { sst: 1, sd })
          assert.equal(read('nssfcfg.yaml').taList[0].tai, amf.supportTaiList[0])
        }
      },
    ),
    { numRuns: rounds(15) },
  )
})

property('cuts a range into parts that do not meet and do not leave it', async () => {
  await fc.assert(
    fc.property(
      fc.ipV4(),
      fc.integer({ min: 8, max: 24 }),
      fc.integer({ min: 1, max: 40 }),
      (base, prefix, count) => {
        const range = parseIpv4Range(`${base}/${prefix}`)
        if (range === undefined) return assert.unreachable('a valid range must be read')
        const parts = partsOf(range, count)
        assert.is(parts.length, count)
        for (const [index, part] of parts.entries()) {
          assert.ok(range.has(part.network))
          assert.is(rangeText(part), part.text)
          assert.is(
            parts.findIndex((other) => other.has(part.network)),
            index,
          )
        }
      },
    ),
  )
})

property('says the longest prefix that holds so many phones', async () => {
  await fc.assert(
    fc.property(fc.integer({ min: 1, max: 1_000_000 }), (phones) => {
      const prefix = prefixFor(phones)
      assert.ok(phonesIn(prefix) >= phones)
      assert.ok(phonesIn(prefix + 1) < phones)
    }),
  )
})

property.run()
