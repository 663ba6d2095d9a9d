import { assert, suite } from '@steeple/testkit'
import { bandwidthsMhz, nrBandwidthUse } from '../../src/bands/band.ts'
import { NR_CHANNEL_BANDWIDTHS, NR_RESTRICTED_ARFCN } from '../../src/bands/band-row.ts'
import { cell, numberIn, type Row, rowsOf, wordsIn } from '../support/tables.ts'

const bandwidths = suite('telecom/bandwidths')
const nrRows = rowsOf('bands/nr-channel-bandwidths')

bandwidths('lists the verified LTE bandwidths of every band and says unknown for the others', () => {
  const unverified = rowsOf('bands/lte-bandwidths-unverified').map((row) => cell(row, 'band'))
  assert.is(unverified.length, 17)
  for (const row of rowsOf('bands/lte-bands')) {
    const listed = wordsIn(row, 'bandwidths_mhz').map(Number)
    const seen = bandwidthsMhz('lte', `b${cell(row, 'band')}`)
    assert.equal(seen, unverified.includes(cell(row, 'band')) ? 'unknown' : listed)
  }
})

bandwidths('carries every NR row unchanged, with the limits of its notes', () => {
  assert.is(nrRows.length, 177)
  const wanted = nrRows.map((row) => [
    cell(row, 'band'),
    numberIn(row, 'scs_khz'),
    numbers(row, 'bandwidths_mhz'),
    {
      ...limit(row, 'dl_only_mhz', 'dlOnly'),
      ...limit(row, 'ul_only_mhz', 'ulOnly'),
      ...limit(row, 'scell_only_mhz', 'scellOnly'),
      ...limit(row, 'position_restricted_mhz', 'positionRestricted'),
    },
  ])
  assert.equal(NR_CHANNEL_BANDWIDTHS, wanted)
})

bandwidths('answers every NR row for its sub-carrier spacing', () => {
  for (const row of nrRows) {
    const [band, scs] = [cell(row, 'band'), numberIn(row, 'scs_khz')!]
    assert.equal(bandwidthsMhz('nr', band, scs), numbers(row, 'bandwidths_mhz'))
    for (const each of numbers(row, 'bandwidths_mhz')) {
      assert.ok(Array.isArray(nrBandwidthUse(band, each, [scs])), `${band} ${each} MHz at ${scs} kHz`)
    }
  }
})

bandwidths('joins the spacings of an NR band when none is named', () => {
  assert.equal(bandwidthsMhz('nr', 'n79'), [10, 20, 30, 40, 50, 60, 70, 80, 90, 100])
  assert.equal(bandwidthsMhz('nr', 'n79', 120), [])
})

bandwidths('knows no list for n263 and no band that is in no table', () => {
  assert.is(bandwidthsMhz('nr', 'n263'), 'unknown')
  assert.is(nrBandwidthUse('n263', 100, [120]), 'unknown')
  assert.is(bandwidthsMhz('nr', 'n4'), undefined)
  assert.is(bandwidthsMhz('lte', 'n1'), undefined)
})

bandwidths('reports the limits that the notes set for a bandwidth', () => {
  assert.equal(nrBandwidthUse('n41', 10, [15, 30, 60]), [])
  assert.equal(nrBandwidthUse('n46', 10, [15, 30, 60]), ['scellOnly'])
  assert.equal(nrBandwidthUse('n5', 25, [15, 30]), ['dlOnly'])
  assert.equal(nrBandwidthUse('n28', 30, [30]), ['positionRestricted'])
  assert.is(nrBandwidthUse('n5', 5, [30]), undefined)
})

bandwidths('carries every listed NR-ARFCN of the restricted table', () => {
  const seen = NR_RESTRICTED_ARFCN.flatMap(([band, mhz, direction, channels]) =>
    channels.map((channel) => `${band} ${mhz} ${channel} ${direction}`),
  )
  const wanted = rowsOf('bands/nr-restricted-arfcn').map((row) =>
    ['band', 'bandwidth_mhz', 'n_ref', 'direction'].map((column) => cell(row, column)).join(' '),
  )
  assert.is(wanted.length, 297)
  assert.equal([...seen].sort(), [...wanted].sort())
})

function numbers(row: Row, column: string): readonly number[] {
  return wordsIn(row, column).map(Number)
}

function limit(row: Row, column: string, key: string): Readonly<Record<string, readonly number[]>> {
  return cell(row, column) === '' ? {} : { [key]: numbers(row, column) }
}

bandwidths.run()
