import type { Branded } from '../brand.ts'

/** kHz in one MHz. */
const KHZ_PER_MHZ = 1000

/** MHz of an integer number of kHz: the double nearest to the decimal number (2169900 gives 2169.9). */
export function mhzFromKhz(khz: number): number {
  return khz / KHZ_PER_MHZ
}

/** The integer number of kHz nearest to a number of MHz (1.4 gives 1400). */
export function khzFromMhz(mhz: number): number {
  return Math.round(mhz * KHZ_PER_MHZ)
}

/** E-UTRA absolute radio frequency channel number, 0 to 262143. Source: TS 36.101 §5.7.3. */
export type Earfcn = Branded<number, 'Earfcn'>

/** NR absolute radio frequency channel number (N_REF), 0 to 3279165. Source: TS 38.104 §5.4.2.1. */
export type NrArfcn = Branded<number, 'NrArfcn'>

/** TS 36.331 §6.3.4, ARFCN-ValueEUTRA-r9: 18 bits. */
const EARFCN_MAX = 262_143
/** TS 38.104 table 5.4.2.1-1. */
const NR_ARFCN_MAX = 3_279_165

/** The EARFCN of an integer, `undefined` outside 0 to 262143. A valid number may still lie in no band. */
export function parseEarfcn(value: number): Earfcn | undefined {
  return isInteger(value, EARFCN_MAX) ? (value as Earfcn) : undefined // the check above is the brand's condition
}

/** The NR-ARFCN of an integer, `undefined` outside 0 to 3279165. A valid number may still lie in no band. */
export function parseNrArfcn(value: number): NrArfcn | undefined {
  return isInteger(value, NR_ARFCN_MAX) ? (value as NrArfcn) : undefined // the check above is the brand's condition
}

function isInteger(value: number, max: number): boolean {
  return Number.isInteger(value) && value >= 0 && value <= max
}
