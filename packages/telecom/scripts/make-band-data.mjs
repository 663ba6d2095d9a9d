// Writes src/bands/data/*.ts from the folder of CSV tables (default: fixtures/bands).
// Usage: node scripts/make-band-data.mjs [folder] && npx biome check --write packages/telecom/src/bands/data
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const home = dirname(dirname(fileURLToPath(import.meta.url)))
const folder = process.argv[2] ?? join(home, 'fixtures', 'bands')

/** Rows of one table as objects by column name. These tables hold no quoted fields. */
function tableOf(name) {
  const [head, ...lines] = readFileSync(join(folder, `${name}.csv`), 'utf8')
    .trim()
    .split(/\r?\n/)
  const columns = head.split(',')
  return lines.map((line) => Object.fromEntries(line.split(',').map((cell, i) => [columns[i], cell])))
}
const khz = (mhz) => String(Math.round(Number(mhz) * 1000))
const list = (cell) => `[${cell.split(' ').filter(Boolean).join(', ')}]`
/** A TDD band has one range; both directions share it. */
const isSecondOfTdd = (row, side) => row.duplex === 'TDD' && side === 'ul'

function lteRange(row, side) {
  if (row[`${side}_earfcn_min`] === '' || isSecondOfTdd(row, side)) return 'undefined'
  const edges = [khz(row[`${side}_low_mhz`]), khz(row[`${side}_high_mhz`])]
  return `[${[...edges, row[`${side}_earfcn_min`], row[`${side}_earfcn_max`]].join(', ')}]`
}

function nrRange(row, side) {
  if (row[`${side}_arfcn_first`] === '' || isSecondOfTdd(row, side)) return 'undefined'
  const edges = [khz(row[`${side}_low_mhz`]), khz(row[`${side}_high_mhz`])]
  const numbers = ['first', 'step', 'last'].map((part) => row[`${side}_arfcn_${part}`])
  return `[${[...edges, ...numbers].join(', ')}]`
}

function nrBandLine(row) {
  const ranges = `${nrRange(row, 'dl')}, ${nrRange(row, 'ul')}`
  return `['${row.band}', '${row.duplex}', ${ranges}, ${list(row.scs_khz)}]`
}

const BANDWIDTH_LIMITS = {
  dl_only_mhz: 'dlOnly',
  ul_only_mhz: 'ulOnly',
  scell_only_mhz: 'scellOnly',
  position_restricted_mhz: 'positionRestricted',
}

function nrBandwidthLine(row) {
  const limits = Object.entries(BANDWIDTH_LIMITS)
    .filter(([column]) => row[column] !== '')
    .map(([column, key]) => `${key}: ${list(row[column])}`)
  const object = limits.length === 0 ? '{}' : `{ ${limits.join(', ')} }`
  return `['${row.band}', ${row.scs_khz}, ${list(row.bandwidths_mhz)}, ${object}]`
}

function restrictedLines(rows) {
  const groups = Map.groupBy(rows, (row) => `'${row.band}', ${row.bandwidth_mhz}, '${row.direction}'`)
  return [...groups].map(([key, members]) => `[${key}, [${members.map((row) => row.n_ref).join(', ')}]]`)
}

function rasterLine(row) {
  const [low, high, offset] = [row.f_min_mhz, row.f_max_mhz, row.f_ref_offs_mhz].map(khz)
  return `[${low}, ${high}, ${row.delta_f_global_khz}, ${offset}, ${row.n_ref_offs}, ${row.n_ref_min}, ${row.n_ref_max}]`
}

function writeModule(file, constant, type, doc, lines) {
  const comment = ['/**', ...doc.map((line) => ` * ${line}`.trimEnd()), ' */'].join('\n')
  const text = `// Written by scripts/make-band-data.mjs; change the tables in fixtures/bands, not this file.
import type { ${type} } from '../band-row.ts'

${comment}
export const ${constant}: readonly ${type}[] = [
${lines.map((line) => `  ${line},`).join('\n')}
]
`
  writeFileSync(join(home, 'src', 'bands', 'data', `${file}.ts`), text)
  process.stdout.write(`${file}.ts: ${lines.length} rows\n`)
}

writeModule(
  'lte-bands',
  'LTE_BANDS',
  'LteBandRow',
  [
    'The E-UTRA bands: edges in kHz, EARFCN ranges, channel bandwidths in MHz.',
    '',
    'An empty bandwidth list means that no two sources agree on it, not that the band has none.',
    '',
    'Source: TS 36.101 tables 5.5-1, 5.6.1-1 and 5.7.3-1, TS 36.104 tables 5.5-1 and 5.7.3-1.',
  ],
  tableOf('lte-bands').map(
    (row) =>
      `[${row.band}, '${row.duplex}', ${lteRange(row, 'dl')}, ${lteRange(row, 'ul')}, ${list(row.bandwidths_mhz)}]`,
  ),
)
writeModule(
  'nr-bands',
  'NR_BANDS',
  'NrBandRow',
  [
    'The NR bands, one row per band and channel raster: edges in kHz, NR-ARFCN ranges with their step.',
    '',
    'Source: TS 38.104 tables 5.2-1, 5.2-2, 5.4.2.3-1 and 5.4.2.3-2, TS 38.101-1 tables 5.2-1 and 5.4.2.3-1.',
  ],
  tableOf('nr-bands').map(nrBandLine),
)
writeModule(
  'nr-bands-enhanced-raster',
  'NR_BANDS_ENHANCED_RASTER',
  'NrBandRow',
  [
    'The NR bands on the 10 kHz enhanced channel raster, which only Rel-18 and later equipment knows.',
    '',
    'Source: TS 38.104 and TS 38.101-1 clause 5.4.2.3, Rel-18 on.',
  ],
  tableOf('nr-bands-enhanced-raster').map(nrBandLine),
)
writeModule(
  'nr-channel-bandwidths',
  'NR_CHANNEL_BANDWIDTHS',
  'NrBandwidthRow',
  [
    'Channel bandwidths in MHz per NR band and sub-carrier spacing in kHz, with the limits the notes set.',
    '',
    'Source: TS 38.101-1 table 5.3.5-1 (Rel-19), TS 38.104 table 5.3.5-2 for n257 to n262.',
  ],
  tableOf('nr-channel-bandwidths').map(nrBandwidthLine),
)
writeModule(
  'nr-restricted-arfcn',
  'NR_RESTRICTED_ARFCN',
  'NrRestrictedRow',
  [
    'NR-ARFCNs that a band allows for one channel bandwidth in MHz only.',
    '',
    'Source: notes of TS 38.104 table 5.4.2.3-1 and TS 38.101-1 table 5.4.2.3-1.',
  ],
  restrictedLines(tableOf('nr-restricted-arfcn')),
)
writeModule(
  'nr-global-raster',
  'NR_GLOBAL_RASTER',
  'NrGlobalRasterRow',
  ['The three parts of the NR global frequency raster, in kHz.', '', 'Source: TS 38.104 table 5.4.2.1-1.'],
  tableOf('nr-global-raster').map(rasterLine),
)
