import { assert, suite } from '@steeple/testkit'
import fc from 'fast-check'
import { NR_BANDS, NR_BANDS_ENHANCED_RASTER, type NrBandRow } from '../../src/bands/band-row.ts'
import { khzFromMhz } from '../../src/bands/channel-number.ts'
import { khzFromNrArfcn, type NrBandPosition, nrChannel } from '../../src/bands/nr-channel.ts'
import { cell, numberIn, type Row, rowsOf, wordsIn } from '../support/tables.ts'

const nr = suite('telecom/nr-channel')
const rows = rowsOf('bands/nr-bands')
const enhancedRows = rowsOf('bands/nr-bands-enhanced-raster')
const vectors = rowsOf('band-test-vectors').filter((row) => cell(row, 'technology') === 'NR')

nr('carries every band row of both tables unchanged', () => {
  assert.is(rows.length, 94)
  assert.is(enhancedRows.length, 52)
  assert.equal(NR_BANDS.map(plain), rows.map(wantedRow))
  assert.equal(NR_BANDS_ENHANCED_RASTER.map(plain), enhancedRows.map(wantedRow))
})

nr(
  'puts the first, second and last number of every row on the raster and the one past its end off it',
  () => {
    for (const row of rows) checkRow(row, 'standard')
  },
)

nr('puts the same numbers of the enhanced raster on that raster or the standard one', () => {
  for (const row of enhancedRows) checkRow(row, 'enhanced')
})

nr('knows a raster of every row as its step on the global raster', () => {
  for (const row of [...rows, ...enhancedRows]) {
    for (const side of ['dl', 'ul']) {
      const first = numberIn(row, `${side}_arfcn_first`)
      if (first === undefined || cell(row, 'band') === 'n263') continue
      const step = numberIn(row, `${side}_arfcn_step`)!
      assert.is(khzFromNrArfcn(first + step)! - khzFromNrArfcn(first)!, numberIn(row, 'raster_khz'))
    }
  }
})

nr('answers every test vector, on the raster and in range', () => {
  assert.is(vectors.length, 89)
  for (const row of vectors) {
    const found = nrChannel(numberIn(row, 'channel')!)
    const side = cell(row, 'direction')
    const named = (found?.bands ?? []).filter((each) => each.direction === 'both' || each.direction === side)
    const onRaster = named.filter((each) => each.raster === 'standard')
    const note = `NR-ARFCN ${cell(row, 'channel')} ${side}`
    assert.is(found?.frequencyMhz, numberIn(row, side === 'UL' ? 'ul_mhz' : 'dl_mhz'), note)
    assert.equal(
      onRaster.map((each) => each.band),
      wordsIn(row, 'bands'),
      note,
    )
    assert.equal(
      named.map((each) => each.band),
      wordsIn(row, 'bands_in_range'),
      note,
    )
    for (const each of onRaster) {
      assert.is(each.downlinkMhz, mhzFor(row, 'dl_mhz', each.band), `${note} ${each.band}`)
      assert.is(each.uplinkMhz, mhzFor(row, 'ul_mhz', each.band), `${note} ${each.band}`)
    }
  }
})

nr('comes back from the paired number of every test vector', () => {
  for (const row of vectors) {
    const found = nrChannel(numberIn(row, 'channel')!)
    for (const each of found?.bands ?? []) checkPair(found!.channel, each)
  }
})

nr('tells a number that is only on the enhanced raster from one on none', () => {
  assert.equal(
    nrChannel(422_002)?.bands.map((each) => each.raster),
    ['enhanced', 'enhanced', 'enhanced'],
  )
  assert.equal(
    nrChannel(422_001)?.bands.map((each) => each.raster),
    ['off', 'off', 'off'],
  )
})

nr('lists a band of two rasters once, with the spacings that may use the point', () => {
  const spacings = (n: number): readonly number[] | undefined =>
    nrChannel(n)?.bands.find((each) => each.band === 'n41')?.scsKhz
  assert.equal(spacings(499_200), [15, 30, 60])
  assert.equal(
    nrChannel(499_200)?.bands.map((each) => each.band),
    ['n41', 'n90'],
  )
  assert.equal(spacings(2_054_167), undefined)
  assert.equal(nrChannel(2_054_166)?.bands.find((each) => each.band === 'n257')?.scsKhz, [60, 120])
})

nr('pairs any number with one that pairs back and keeps the spacing of its band', () => {
  fc.assert(
    fc.property(fc.integer({ min: 78_000, max: 875_000 }), (n) => {
      const found = nrChannel(n)
      for (const each of found?.bands ?? []) checkPair(n, each)
    }),
    { numRuns: 1000 },
  )
})

nr('refuses what is no NR-ARFCN', () => {
  for (const n of [-1, 0.5, Number.NaN, 3_279_166]) assert.is(nrChannel(n), undefined)
})

function plain([band, duplex, dl, ul, scsKhz]: NrBandRow): readonly unknown[] {
  return [band, duplex, dl, ul, scsKhz]
}

function wantedRow(row: Row): readonly unknown[] {
  const ul = cell(row, 'duplex') === 'TDD' ? undefined : range(row, 'ul')
  return [cell(row, 'band'), cell(row, 'duplex'), range(row, 'dl'), ul, wordsIn(row, 'scs_khz').map(Number)]
}

function range(row: Row, side: 'dl' | 'ul'): readonly number[] | undefined {
  if (cell(row, `${side}_arfcn_first`) === '') return undefined
  const edges = [numberIn(row, `${side}_low_mhz`)!, numberIn(row, `${side}_high_mhz`)!].map(khzFromMhz)
  return [...edges, ...['first', 'step', 'last'].map((part) => numberIn(row, `${side}_arfcn_${part}`)!)]
}

function checkRow(row: Row, raster: 'standard' | 'enhanced'): void {
  const band = cell(row, 'band')
  for (const side of ['dl', 'ul'] as const) {
    const [low, high, first, step, last] = range(row, side) ?? []
    if (low === undefined) continue
    for (const n of [first!, first! + step!, last!]) {
      const place = placeIn(band, n)
      const khz = khzFromMhz((side === 'dl' ? place?.downlinkMhz : place?.uplinkMhz)!)
      const spacings = wordsIn(row, 'scs_khz').map(Number)
      assert.ok(place?.raster === raster || place?.raster === 'standard', `${band} ${n}`)
      assert.ok(khz >= low && khz <= high!, `${band} ${n} at ${khz} kHz`)
      assert.ok(
        spacings.every((scs) => place.scsKhz.includes(scs)),
        `${band} ${n} spacings`,
      )
    }
    assert.ok(
      placeIn(band, last! + step!)?.raster !== 'standard' || hasOtherRaster(band),
      `${band} past its end`,
    )
  }
}

function placeIn(band: string, channel: number): NrBandPosition | undefined {
  return nrChannel(channel)?.bands.find((each) => each.band === band)
}

function hasOtherRaster(band: string): boolean {
  return rows.filter((row) => cell(row, 'band') === band).length > 1
}

function checkPair(channel: number, position: NrBandPosition): void {
  const paired = position.pairedNrArfcn
  if (paired === undefined) return
  const back = nrChannel(paired)?.bands.find((each) => each.band === position.band)
  assert.is(back?.pairedNrArfcn, channel, position.band)
  assert.is(back?.downlinkMhz, position.downlinkMhz, position.band)
  assert.is(back?.uplinkMhz, position.uplinkMhz, position.band)
}

function mhzFor(row: Row, column: string, band: string): number | undefined {
  const text = cell(row, column)
  if (!text.includes('=')) return text === '' ? undefined : Number(text)
  const value = text
    .split(';')
    .find((part) => part.startsWith(`${band}=`))
    ?.slice(band.length + 1)
  return value === undefined || value === '' ? undefined : Number(value)
}

nr.run()
