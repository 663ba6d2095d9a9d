import { assert, rounds, suite } from '@steeple/testkit'
import * as fc from 'fast-check'
import { parse } from 'yaml'
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

property.run()
