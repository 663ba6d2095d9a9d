import { assert, suite } from '@steeple/testkit'
import fc from 'fast-check'
import { LTE_BANDS } from '../../src/bands/band-row.ts'
import { khzFromMhz } from '../../src/bands/channel-number.ts'
import { earfcnFromKhz, lteChannel } from '../../src/bands/lte-channel.ts'
import { cell, numberIn, rowsOf, wordsIn } from '../support/tables.ts'

const lte = suite('telecom/lte-channel')
const rows = rowsOf('bands/lte-bands')
const vectors = rowsOf('band-test-vectors').filter((row) => cell(row, 'technology') === 'LTE')

lte('places the first and last downlink number of every band at its edges', () => {
  assert.is(rows.length, 74)
  for (const row of rows) {
    const first = lteChannel(numberIn(row, 'dl_earfcn_min')!)
    const last = lteChannel(numberIn(row, 'dl_earfcn_max')!)
    assert.is(first?.band, `b${cell(row, 'band')}`)
    assert.is(last?.band, first?.band)
    assert.is(first?.duplex, cell(row, 'duplex'))
    assert.is(first?.direction, cell(row, 'duplex') === 'TDD' ? 'both' : 'DL')
    assert.is(first?.downlinkMhz, numberIn(row, 'dl_low_mhz'))
    assert.is(khzFromMhz(last!.downlinkMhz!), khzFromMhz(numberIn(row, 'dl_high_mhz')!) - 100)
  }
})

lte('places the first and last uplink number of every band at its edges', () => {
  for (const row of rows.filter((each) => numberIn(each, 'ul_earfcn_min') !== undefined)) {
    const first = lteChannel(numberIn(row, 'ul_earfcn_min')!)
    const last = lteChannel(numberIn(row, 'ul_earfcn_max')!)
    assert.is(first?.band, `b${cell(row, 'band')}`)
    assert.is(last?.band, first?.band)
    assert.is(first?.direction, cell(row, 'duplex') === 'TDD' ? 'both' : 'UL')
    assert.is(first?.uplinkMhz, numberIn(row, 'ul_low_mhz'))
    assert.is(khzFromMhz(last!.uplinkMhz!), khzFromMhz(numberIn(row, 'ul_high_mhz')!) - 100)
  }
})

lte('carries every band row of the table unchanged', () => {
  const seen = LTE_BANDS.map(([band, duplex, dl, ul, bandwidths]) => [band, duplex, dl, ul, bandwidths])
  const wanted = rows.map((row) => [
    Number(cell(row, 'band')),
    cell(row, 'duplex'),
    range(row, 'dl'),
    cell(row, 'duplex') === 'TDD' ? undefined : range(row, 'ul'),
    wordsIn(row, 'bandwidths_mhz').map(Number),
  ])
  assert.equal(seen, wanted)
})

lte('knows no number just outside the ranges of the table', () => {
  const ranges = rows
    .flatMap((row) => [range(row, 'dl'), range(row, 'ul')])
    .filter((each) => each !== undefined)
  const isKnown = (n: number): boolean => ranges.some(([, , first, last]) => n >= first! && n <= last!)
  for (const [, , first, last] of ranges) {
    for (const n of [first! - 1, last! + 1]) assert.is(lteChannel(n) !== undefined, isKnown(n), String(n))
  }
})

lte('answers every test vector', () => {
  assert.is(vectors.length, 100)
  for (const row of vectors) {
    const found = lteChannel(numberIn(row, 'channel')!)
    const note = `EARFCN ${cell(row, 'channel')}`
    assert.is(found?.band, cell(row, 'bands') === '' ? undefined : `b${cell(row, 'bands')}`, note)
    assert.is(cell(row, 'bands_in_range'), cell(row, 'bands'), note)
    assert.is(found?.downlinkMhz, numberIn(row, 'dl_mhz'), note)
    assert.is(found?.uplinkMhz, numberIn(row, 'ul_mhz'), note)
    assert.is(found?.pairedEarfcn, numberIn(row, 'paired_channel'), note)
    if (found !== undefined && found.direction !== 'both') {
      assert.is(found.direction, cell(row, 'direction'), note)
    }
  }
})

lte('answers every test vector from the other direction and from its frequency', () => {
  for (const row of vectors.filter((each) => cell(each, 'bands') !== '')) {
    const band = `b${cell(row, 'bands')}`
    const channel = numberIn(row, 'channel')!
    const isUplink = cell(row, 'direction') === 'UL'
    const mhz = numberIn(row, isUplink ? 'ul_mhz' : 'dl_mhz')!
    assert.is(earfcnFromKhz(band, isUplink ? 'UL' : 'DL', khzFromMhz(mhz)), channel)
    const paired = numberIn(row, 'paired_channel')
    if (paired !== undefined) assert.is(lteChannel(paired)?.pairedEarfcn, channel)
  }
})

lte('finds each number again from the frequency it names', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 262_143 }), (n) => {
      const found = lteChannel(n)
      if (found === undefined) return
      if (found.direction !== 'UL')
        assert.is(earfcnFromKhz(found.band, 'DL', khzFromMhz(found.downlinkMhz!)), n)
      if (found.direction !== 'DL')
        assert.is(earfcnFromKhz(found.band, 'UL', khzFromMhz(found.uplinkMhz!)), n)
      if (found.pairedEarfcn !== undefined) assert.is(lteChannel(found.pairedEarfcn)?.pairedEarfcn, n)
    }),
    { numRuns: 2000 },
  )
})

lte('refuses what is no EARFCN or no channel of the band', () => {
  for (const n of [-1, 0.5, Number.NaN, 262_144, Number.POSITIVE_INFINITY])
    assert.is(lteChannel(n), undefined)
  assert.is(earfcnFromKhz('b3', 'DL', 1_805_050), undefined)
  assert.is(earfcnFromKhz('b3', 'DL', 1_880_000), undefined)
  assert.is(earfcnFromKhz('b29', 'UL', 717_000), undefined)
  assert.is(earfcnFromKhz('b99', 'DL', 717_000), undefined)
  assert.is(earfcnFromKhz('n3', 'DL', 1_805_000), undefined)
})

function range(row: Readonly<Record<string, string>>, side: 'dl' | 'ul'): readonly number[] | undefined {
  const first = numberIn(row, `${side}_earfcn_min`)
  if (first === undefined) return undefined
  assert.is(first, numberIn(row, `${side}_earfcn_offset`))
  const edges = [numberIn(row, `${side}_low_mhz`)!, numberIn(row, `${side}_high_mhz`)!].map(khzFromMhz)
  return [...edges, first, numberIn(row, `${side}_earfcn_max`)!]
}

lte.run()
