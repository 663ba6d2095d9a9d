import { assert, suite } from '@steeple/testkit'
import { downlinkSpan } from '../../src/bands/band.ts'
import { khzFromMhz } from '../../src/bands/channel-number.ts'
import { cell, numberIn, rowsOf } from '../support/tables.ts'

const span = suite('telecom/band-span')

span('spans every LTE band from edge to edge, with and without its first and last number', () => {
  for (const row of rowsOf('bands/lte-bands')) {
    const wanted = {
      lowKhz: khzFromMhz(numberIn(row, 'dl_low_mhz')!),
      highKhz: khzFromMhz(numberIn(row, 'dl_high_mhz')!),
    }
    const [first, last] = [numberIn(row, 'dl_earfcn_min')!, numberIn(row, 'dl_earfcn_max')!]
    assert.equal(downlinkSpan('lte', `b${cell(row, 'band')}`), wanted)
    assert.equal(downlinkSpan('lte', `b${cell(row, 'band')}`, first, last), wanted)
  }
})

span('spans every NR band with a downlink from edge to edge', () => {
  for (const row of rowsOf('bands/nr-bands')) {
    const low = numberIn(row, 'dl_low_mhz')
    const high = numberIn(row, 'dl_high_mhz')
    const wanted = low === undefined ? undefined : { lowKhz: khzFromMhz(low), highKhz: khzFromMhz(high!) }
    assert.equal(downlinkSpan('nr', cell(row, 'band')), wanted)
  }
  assert.equal(downlinkSpan('nr', 'n78', 620_000, 653_333), { lowKhz: 3_300_000, highKhz: 3_800_000 })
})

span('narrows a band to a range of its numbers', () => {
  assert.equal(downlinkSpan('lte', 'b3', 1300, 1399), { lowKhz: 1_815_000, highKhz: 1_825_000 })
  assert.equal(downlinkSpan('lte', 'b3', 1300), { lowKhz: 1_815_000, highKhz: 1_880_000 })
  assert.equal(downlinkSpan('nr', 'n78', undefined, 640_000), { lowKhz: 3_300_000, highKhz: 3_600_000 })
})

span('knows no span outside of the band, of an empty range, of uplink numbers or without a downlink', () => {
  assert.is(downlinkSpan('lte', 'b3', 600, 1300), undefined)
  assert.is(downlinkSpan('lte', 'b3', 1400, 1300), undefined)
  assert.is(downlinkSpan('lte', 'b3', 19_200, 19_300), undefined)
  assert.is(downlinkSpan('nr', 'n78', 620_000, 660_000), undefined)
  assert.is(downlinkSpan('nr', 'n78', 640_000, 630_000), undefined)
  assert.is(downlinkSpan('nr', 'n78', 630_000.5), undefined)
  assert.is(downlinkSpan('nr', 'n80'), undefined)
  assert.is(downlinkSpan('lte', 'n78'), undefined)
})

span.run()
