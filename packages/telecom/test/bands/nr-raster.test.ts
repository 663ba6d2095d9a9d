import { assert, suite } from '@steeple/testkit'
import fc from 'fast-check'
import { NR_GLOBAL_RASTER } from '../../src/bands/band-row.ts'
import { khzFromMhz } from '../../src/bands/channel-number.ts'
import { khzFromNrArfcn, nrArfcnFromKhz } from '../../src/bands/nr-channel.ts'
import { cell, numberIn, rowsOf } from '../support/tables.ts'

const raster = suite('telecom/nr-raster')
const COLUMNS_KHZ = ['f_min_mhz', 'f_max_mhz', 'delta_f_global_khz', 'f_ref_offs_mhz']

raster('carries every row of the global raster unchanged', () => {
  const wanted = rowsOf('bands/nr-global-raster').map((row) => [
    ...COLUMNS_KHZ.map((column) =>
      column.endsWith('_khz') ? Number(cell(row, column)) : khzFromMhz(numberIn(row, column)!),
    ),
    ...['n_ref_offs', 'n_ref_min', 'n_ref_max'].map((column) => numberIn(row, column)!),
  ])
  assert.equal(NR_GLOBAL_RASTER, wanted)
})

raster('keeps the frequency of every number as a whole number of kHz that leads back to it', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 3_279_165 }), (n) => {
      const khz = khzFromNrArfcn(n)
      assert.ok(Number.isInteger(khz))
      assert.is(nrArfcnFromKhz(khz!), n)
    }),
    { numRuns: 5000 },
  )
})

raster('finds no number between two points of the raster', () => {
  assert.is(nrArfcnFromKhz(2_110_001), undefined)
  assert.is(nrArfcnFromKhz(3_300_005), undefined)
  assert.is(nrArfcnFromKhz(24_250_000), undefined)
  assert.is(nrArfcnFromKhz(-5), undefined)
  assert.is(nrArfcnFromKhz(Number.NaN), undefined)
})

raster('meets the seams of the three parts', () => {
  assert.is(khzFromNrArfcn(599_999), 2_999_995)
  assert.is(khzFromNrArfcn(600_000), 3_000_000)
  assert.is(khzFromNrArfcn(2_016_666), 24_249_990)
  assert.is(khzFromNrArfcn(2_016_667), 24_250_080)
  assert.is(khzFromNrArfcn(3_279_166), undefined)
})

raster.run()
