import { NR_GLOBAL_RASTER } from './band-row.ts'
import { type NrArfcn, parseNrArfcn } from './channel-number.ts'

/**
 * Frequency of an NR-ARFCN on the global raster, in kHz; every point is a whole number of kHz.
 *
 * `undefined` outside 0 to 3279165.
 *
 * Source: TS 38.104 §5.4.2.1, F_REF = F_REF-Offs + ΔF_Global x (N_REF - N_REF-Offs).
 */
export function khzFromNrArfcn(channel: number): number | undefined {
  if (!Number.isInteger(channel)) return undefined
  for (const [, , stepKhz, offsetKhz, nOffset, first, last] of NR_GLOBAL_RASTER) {
    if (channel >= first && channel <= last) return offsetKhz + stepKhz * (channel - nOffset)
  }
  return undefined
}

/** The NR-ARFCN nearest to a frequency in kHz; `undefined` beyond the raster. Source: TS 38.104 §5.4.2.1. */
export function nearestNrArfcn(khz: number): NrArfcn | undefined {
  const row = NR_GLOBAL_RASTER.findLast(([lowKhz]) => khz >= lowKhz)
  return row === undefined ? undefined : parseNrArfcn(row[4] + Math.round((khz - row[3]) / row[2]))
}

/** Step of the global raster at a frequency in kHz: 5, 15 or 60 kHz. Source: TS 38.104 table 5.4.2.1-1. */
export function nrRasterStepKhz(khz: number): number {
  return NR_GLOBAL_RASTER.findLast(([lowKhz]) => khz >= lowKhz)?.[2] ?? 0
}

/**
 * The NR-ARFCN whose frequency is exactly `khz`; `undefined` when no point of the global raster is there.
 *
 * Source: TS 38.104 §5.4.2.1.
 */
export function nrArfcnFromKhz(khz: number): NrArfcn | undefined {
  for (const [, , stepKhz, offsetKhz, nOffset, first, last] of NR_GLOBAL_RASTER) {
    const channel = nOffset + (khz - offsetKhz) / stepKhz
    if (channel >= first && channel <= last) return parseNrArfcn(channel)
  }
  return undefined
}
