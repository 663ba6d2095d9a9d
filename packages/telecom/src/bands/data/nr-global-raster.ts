// Written by scripts/make-band-data.mjs; change the tables in fixtures/bands, not this file.
import type { NrGlobalRasterRow } from '../band-row.ts'

/**
 * The three parts of the NR global frequency raster, in kHz.
 *
 * Source: TS 38.104 table 5.4.2.1-1.
 */
export const NR_GLOBAL_RASTER: readonly NrGlobalRasterRow[] = [
  [0, 3000000, 5, 0, 0, 0, 599999],
  [3000000, 24250000, 15, 3000000, 600000, 600000, 2016666],
  [24250000, 100000000, 60, 24250080, 2016667, 2016667, 3279165],
]
