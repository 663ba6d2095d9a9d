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
