import { assert, suite } from '@steeple/testkit'
import fc from 'fast-check'
import { LTE_BANDS } from '../../src/bands/band-row.ts'
import type { Carrier } from '../../src/bands/carrier.ts'
import { blockAt, isUsableCarrier } from '../../src/bands/carrier.ts'
import type { CarriersOptions } from '../../src/bands/carriers-of.ts'
import { carriersOf, channelsAtKhz } from '../../src/bands/carriers-of.ts'
import { cell, numberIn, rowsOf } from '../support/tables.ts'

const carriers = suite('telecom/carriers-of')
const RESERVED = [
  [1.4, 7],
  [3, 15],
  [5, 25],
  [10, 50],
  [15, 75],
  [20, 100],
] as const

carriers('draws both sides of an LTE carrier in whole kHz', () => {
  assert.equal(carriersOf('lte', 1575, { bandwidthMhz: 20 }), [
    {
      technology: 'lte',
      band: 'b3',
      channel: 1575,
      direction: 'DL',
      duplex: 'FDD',
      downlink: { channel: 1575, lowKhz: 1_832_500, centreKhz: 1_842_500, highKhz: 1_852_500 },
      uplink: { channel: 19_575, lowKhz: 1_737_500, centreKhz: 1_747_500, highKhz: 1_757_500 },
      problems: [],
    },
  ])
})

carriers('draws both sides from an uplink number too', () => {
  const [carrier] = carriersOf('lte', 19_575, { bandwidthMhz: 20 })
  assert.is(carrier?.direction, 'UL')
  assert.is(carrier?.downlink?.channel, 1575)
  assert.is(carrier?.uplink?.channel, 19_575)
  const n1 = only('nr', 384_000, { band: 'n1' })
  assert.is(n1.downlink?.channel, 422_000)
  assert.is(n1.uplink?.centreKhz, 1_920_000)
})

carriers('gives a TDD carrier the same block in both directions', () => {
  const n78 = only('nr', 636_666, { band: 'n78', bandwidthMhz: 20, scsKhz: 30 })
  assert.equal(n78.downlink, {
    channel: 636_666,
    lowKhz: 3_539_990,
    centreKhz: 3_549_990,
    highKhz: 3_559_990,
  })
  assert.equal(n78.uplink, n78.downlink)
  assert.equal(codes(n78), [])
})

carriers('names every band of an NR number and only the asked one', () => {
  assert.equal(
    carriersOf('nr', 422_000).map((each) => each.band),
    ['n1', 'n65', 'n66'],
  )
  assert.equal(
    carriersOf('nr', 422_000, { band: 'n66' }).map((each) => each.band),
    ['n66'],
  )
  assert.equal(carriersOf('nr', 422_000, { band: 'n78' }), [])
  assert.equal(carriersOf('nr', 600_000), [])
  assert.equal(carriersOf('lte', 4950), [])
  assert.equal(carriersOf('nr', -1), [])
})

carriers('refuses exactly the reserved numbers at both edges of every LTE band and direction', () => {
  for (const [number, , dl, ul] of LTE_BANDS) {
    for (const [, , first, last] of [dl, ul].filter((range) => range !== undefined)) {
      for (const [bandwidthMhz, reserved] of RESERVED) {
        if (last - first + 1 < 2 * reserved - 1) continue
        const at = (n: number): boolean => hasCode('lte', n, { bandwidthMhz }, 'reserved_channel')
        const seen = [
          at(first + reserved - 1),
          at(first + reserved),
          at(last - reserved + 1),
          at(last - reserved + 2),
        ]
        assert.equal(seen, [true, false, false, true], `b${number} ${bandwidthMhz} MHz`)
      }
    }
  }
})

carriers('finds a reserved LTE number where the carrier sticks out of its band, and only there', () => {
  const bandwidth = fc.constantFrom(...RESERVED.map(([mhz]) => mhz))
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 60_304 }), bandwidth, (n, bandwidthMhz) => {
      for (const carrier of carriersOf('lte', n, { bandwidthMhz })) {
        const found = codes(carrier)
        assert.is(found.includes('reserved_channel'), found.includes('out_of_band'), `${n} ${bandwidthMhz}`)
      }
    }),
    { numRuns: 2000 },
  )
})

carriers('refuses a bandwidth that the band lacks and notes one that nobody verified', () => {
  assert.equal(codes(only('lte', 300, { bandwidthMhz: 1.4 })), ['bandwidth_not_in_band'])
  assert.equal(codes(only('lte', 300, { bandwidthMhz: 7 })), ['bandwidth_not_in_band'])
  assert.equal(codes(only('lte', 46_690, { bandwidthMhz: 10 })), ['bandwidth_unverified'])
  assert.ok(isUsableCarrier(only('lte', 46_690, { bandwidthMhz: 10 })))
  assert.equal(codes(only('lte', 46_690, { bandwidthMhz: 7 })), ['bandwidth_not_in_band'])
  assert.equal(codes(only('nr', 650_000, { band: 'n78', bandwidthMhz: 100, scsKhz: 15 })), [
    'bandwidth_not_in_band',
  ])
  assert.ok(isUsableCarrier(only('nr', 650_000, { band: 'n78', bandwidthMhz: 100, scsKhz: 30 })))
  assert.ok(isUsableCarrier(only('nr', 650_000, { band: 'n78', bandwidthMhz: 100 })))
  assert.equal(codes(only('nr', 2_570_803, { band: 'n263', bandwidthMhz: 100 })), ['bandwidth_unverified'])
})

carriers('takes the bandwidth only at a spacing that may use the point', () => {
  assert.equal(codes(only('nr', 2_080_000, { band: 'n257', bandwidthMhz: 400, scsKhz: 60 })), [
    'bandwidth_not_in_band',
  ])
  assert.equal(codes(only('nr', 2_080_000, { band: 'n257', bandwidthMhz: 400, scsKhz: 120 })), [])
  assert.equal(codes(only('nr', 2_080_000, { band: 'n257', bandwidthMhz: 400 })), [])
  assert.equal(codes(only('nr', 499_204, { band: 'n41', bandwidthMhz: 20 }))[0], 'off_raster')
})

carriers('refuses a carrier that sticks out of its band on either side', () => {
  assert.equal(codes(only('nr', 620_000, { band: 'n78', bandwidthMhz: 20 })), ['out_of_band'])
  assert.equal(codes(only('nr', 620_667, { band: 'n78', bandwidthMhz: 20 })), [])
  assert.equal(codes(only('nr', 652_667, { band: 'n78', bandwidthMhz: 20 })), ['out_of_band'])
  const b66 = only('lte', 67_085, { bandwidthMhz: 20 })
  assert.equal(codes(b66), ['out_of_band'])
  assert.ok(b66.downlink !== undefined && b66.downlink.highKhz < 2_200_000)
})

carriers('tells off the raster from on the enhanced raster', () => {
  assert.equal(codes(only('nr', 428_001, { band: 'n1' })), ['off_raster'])
  assert.equal(codes(only('nr', 428_002, { band: 'n1' })), ['enhanced_raster_only'])
  assert.equal(codes(only('nr', 428_002, { band: 'n1', allowEnhancedRaster: true })), [])
  assert.equal(codes(only('nr', 428_000, { band: 'n1' })), [])
  assert.equal(codes(only('nr', 428_000, { band: 'n1', scsKhz: 120 })), ['off_raster'])
})

carriers('allows the listed numbers of n46, n96, n102 and n106 for their bandwidth, all 295 of them', () => {
  const listed = rowsOf('bands/nr-restricted-arfcn').filter((row) => cell(row, 'band') !== 'n28')
  for (const row of listed) {
    const options = { band: cell(row, 'band'), bandwidthMhz: numberIn(row, 'bandwidth_mhz')! }
    const carrier = only('nr', numberIn(row, 'n_ref')!, options)
    assert.ok(isUsableCarrier(carrier), `${carrier.band} ${carrier.channel}: ${codes(carrier)}`)
    assert.is(
      codes(carrier).includes('no_uplink'),
      cell(row, 'direction') === 'DL' && carrier.duplex === 'TDD',
    )
  }
  assert.is(listed.length, 295)
  assert.equal(codes(only('nr', 797_000, { band: 'n96', bandwidthMhz: 40 })), ['position_not_allowed'])
  assert.equal(codes(only('nr', 797_001, { band: 'n96' })), ['position_not_allowed'])
  assert.ok(hasCode('nr', 187_020, { band: 'n106', bandwidthMhz: 3 }, 'position_not_allowed'))
})

carriers('allows the extra point of n28 for 40 MHz alone', () => {
  assert.equal(codes(only('nr', 144_608, { band: 'n28', bandwidthMhz: 40 })), ['position_restricted'])
  assert.equal(codes(only('nr', 155_608, { band: 'n28', bandwidthMhz: 40 })), ['position_restricted'])
  assert.equal(codes(only('nr', 144_608, { band: 'n28' })), [])
  assert.equal(codes(only('nr', 144_608, { band: 'n28', bandwidthMhz: 10 })), ['off_raster'])
})

carriers('notes a carrier with one direction', () => {
  assert.equal(codes(only('lte', 9920)), ['no_uplink'])
  assert.equal(codes(only('lte', 67_335)), ['no_uplink'])
  assert.equal(codes(only('lte', 75_785)), ['broadcast_only'])
  assert.equal(codes(only('nr', 384_000, { band: 'n84' })), ['no_downlink'])
  assert.is(only('nr', 384_000, { band: 'n84' }).downlink, undefined)
})

carriers('judges a bandwidth of one direction by the direction the number names', () => {
  assert.equal(codes(only('nr', 188_500, { band: 'n8', bandwidthMhz: 35 })), ['bandwidth_downlink_only'])
  assert.equal(codes(only('nr', 179_500, { band: 'n8', bandwidthMhz: 35 })), ['bandwidth_not_in_band'])
  assert.equal(codes(only('nr', 401_500, { band: 'n70', bandwidthMhz: 25 })), ['bandwidth_downlink_only'])
})

carriers('knows the notes of single LTE bands', () => {
  assert.equal(codes(only('lte', 2700)), ['withdrawn'])
  assert.equal(codes(only('lte', 7600)), ['withdrawn'])
  assert.equal(codes(only('lte', 50_665)), ['licensed_assisted_only'])
  assert.equal(codes(only('lte', 54_640)), ['sidelink_only'])
  assert.equal(codes(only('lte', 70_650)), ['nb_iot_only'])
  assert.equal(codes(only('lte', 7700)), ['position_not_allowed'])
  assert.equal(codes(only('lte', 7760, { bandwidthMhz: 10 })), [])
  assert.equal(codes(only('lte', 7761, { bandwidthMhz: 10 })), ['position_not_allowed'])
  assert.not(hasCode('lte', 70_686, { bandwidthMhz: 3 }, 'position_not_allowed'))
  assert.ok(hasCode('lte', 70_687, { bandwidthMhz: 3 }, 'position_not_allowed'))
  assert.ok(hasCode('nr', 792_000, { band: 'n47' }, 'sidelink_only'))
})

carriers('explains each problem with band, channel and bandwidth', () => {
  const [problem] = only('nr', 620_000, { band: 'n78', bandwidthMhz: 20 }).problems
  assert.is(problem?.message, 'a carrier of 20 MHz on channel 620000 sticks out of n78')
  assert.is(problem?.severity, 'refuse')
})

carriers('computes edges without rounding errors', () => {
  const edges = (mhz: number, bandwidthMhz: number) => {
    const block = blockAt(mhz, 0, bandwidthMhz)
    return [block?.lowKhz, block?.highKhz]
  }
  assert.equal(edges(2169.9, 1.4), [2_169_200, 2_170_600])
  assert.equal(edges(24_250.08, 50), [24_225_080, 24_275_080])
  assert.equal(edges(3300.015, 0.005), [3_300_012, 3_300_018])
})

carriers('keeps every usable NR carrier inside its band and centred', () => {
  const bandwidth = fc.constantFrom(3, 5, 10, 20, 40, 50, 100)
  fc.assert(
    fc.property(fc.integer({ min: 82_000, max: 875_000 }), bandwidth, (n, bandwidthMhz) => {
      for (const { downlink, uplink } of carriersOf('nr', n, { bandwidthMhz })) {
        for (const block of [downlink, uplink].filter((side) => side !== undefined)) {
          assert.is(block.highKhz - block.lowKhz, bandwidthMhz * 1000)
          assert.is(block.highKhz - block.centreKhz, block.centreKhz - block.lowKhz)
        }
      }
    }),
    { numRuns: 1000 },
  )
})

carriers('finds the channel of a frequency in each band that has a downlink there', () => {
  const at = (technology: 'lte' | 'nr', khz: number): readonly string[] =>
    channelsAtKhz(technology, khz).map(({ band, channel }) => `${band} ${channel}`)
  assert.equal(at('lte', 1_815_000), ['b3 1300'])
  assert.equal(at('nr', 3_750_000), ['n77 650000', 'n78 650000'])
  // 3805 MHz is no channel: 653666 lies 10 kHz below it, 653667 5 kHz above.
  assert.equal(at('nr', 3_805_000), ['n77 653667'])
  assert.equal(at('lte', 1_720_000), [])
  assert.equal(at('nr', 200_000_000), [])
})

carriers('finds each downlink channel again by its frequency', () => {
  fc.assert(
    fc.property(
      fc.constantFrom('lte' as const, 'nr' as const),
      fc.integer({ min: 0, max: 700_000 }),
      (technology, n) => {
        for (const { band, direction, downlink } of carriersOf(technology, n)) {
          if (direction === 'UL' || downlink === undefined) continue
          const found = channelsAtKhz(technology, downlink.centreKhz).find((place) => place.band === band)
          assert.is(found?.channel, n)
        }
      },
    ),
    { numRuns: 1000 },
  )
})

function only(technology: 'lte' | 'nr', channel: number, options: CarriersOptions = {}): Carrier {
  const found = carriersOf(technology, channel, options)
  assert.is(found.length, 1)
  return found[0]!
}

function codes(carrier: Carrier): readonly string[] {
  return carrier.problems.map((problem) => problem.code)
}

function hasCode(technology: 'lte' | 'nr', channel: number, options: CarriersOptions, code: string): boolean {
  return codes(only(technology, channel, options)).includes(code)
}

carriers.run()
