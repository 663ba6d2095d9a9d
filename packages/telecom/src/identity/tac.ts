import type { Technology } from '@steeple/contracts'

/** TS 23.003 §19.4.2.3: the TAC of EPS has 16 bits. */
const LTE_TAC_MAX = 0xffff
/** TS 23.003 §28.6: the TAC of 5GS has 24 bits. */
const NR_TAC_MAX = 0xffffff

/** The highest tracking area code: 65535 in LTE, 16777215 in NR. The lowest is 0 in both. */
export function tacMax(technology: Technology): number {
  return technology === 'lte' ? LTE_TAC_MAX : NR_TAC_MAX
}

/**
 * Whether a number is a tracking area code of the technology.
 *
 * The values that the specification reserves for "no valid TAI" (0 and the highest but one) are codes too.
 */
export function isTac(technology: Technology, value: number): boolean {
  return Number.isInteger(value) && value >= 0 && value <= tacMax(technology)
}
