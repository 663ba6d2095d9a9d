import type { AllowListEntry, CarrierRequest, Technology } from '@steeple/contracts'
import { bandwidthsMhz, carriersOf, isUsableCarrier } from '@steeple/telecom'
import { assert, suite } from '@steeple/testkit'
import * as fc from 'fast-check'
import { allowListSide, countryList } from '../../src/spectrum/allowed-range.ts'
import { coverageOf } from '../../src/spectrum/coverage.ts'

const coverage = suite('policy/coverage')

const HIGHEST: Readonly<Record<Technology, number>> = { lte: 75_000, nr: 3_279_165 }

const technology = fc.constantFrom<Technology>('lte', 'nr')
const placed = technology.chain((name) =>
  fc.record({
    technology: fc.constant(name),
    channel: fc.integer({ min: 0, max: HIGHEST[name] }),
    bandwidthMhz: fc.constantFrom(1.4, 3, 5, 10, 15, 20, 40, 50, 100, 200, 400),
  }),
)

function covers(
  allowList: readonly AllowListEntry[],
  carrier: CarrierRequest,
  isForSending = false,
): boolean {
  return coverageOf(countryList(allowList, 'DE'), { carrier, isForSending }).isCovered
}

coverage('of whole bands is exactly what the band tables allow', async () => {
  await fc.assert(
    fc.property(placed, (carrier) => {
      const carriers = carriersOf(carrier.technology, carrier.channel, { bandwidthMhz: carrier.bandwidthMhz })
      const list = carriers.map(({ band }) => ({ technology: carrier.technology, band, country: 'DE' }))
      const usable = carriers.filter((each) => isUsableCarrier(each) && allowListSide(each) !== undefined)
      assert.is(covers(list, carrier), usable.length > 0)
      assert.is(
        covers(list, carrier, true),
        usable.some(({ downlink }) => downlink !== undefined),
      )
      assert.is(covers([], carrier), false)
    }),
    { numRuns: 3_000 },
  )
})

coverage('of a part of a band never reaches outside of it', async () => {
  const first = 1200
  const last = 1949
  const channel = fc.integer({ min: first, max: last })
  const width = fc.constantFrom(
    ...[bandwidthsMhz('lte', 'b3')].flat().filter((mhz) => typeof mhz === 'number'),
  )
  await fc.assert(
    fc.property(channel, channel, channel, width, (a, b, centre, bandwidthMhz) => {
      const [earfcn_min, earfcn_max] = [Math.min(a, b), Math.max(a, b)]
      const list = [{ technology: 'lte' as const, band: 'b3', country: 'DE', earfcn_min, earfcn_max }]
      // Ten EARFCNs are one MHz; the band ends one step above its last EARFCN.
      const half = bandwidthMhz * 5
      const top = earfcn_max === last ? last + 1 : earfcn_max
      const isInside = centre - half >= earfcn_min && centre + half <= top
      const request = { technology: 'lte' as const, channel: centre, bandwidthMhz }
      const isChannel = carriersOf('lte', centre, { bandwidthMhz }).every(isUsableCarrier)
      assert.is(covers(list, request), isInside && isChannel)
    }),
    { numRuns: 3_000 },
  )
})

coverage('says why not with the channel number and the country', async () => {
  await fc.assert(
    fc.property(placed, (carrier) => {
      const answer = coverageOf(countryList([], 'DE'), { carrier, isForSending: false })
      assert.ok(!answer.isCovered && answer.reason.includes(`${carrier.channel} `), JSON.stringify(answer))
      assert.ok(!answer.isCovered && answer.reason.includes('DE'))
    }),
  )
})

coverage.run()
