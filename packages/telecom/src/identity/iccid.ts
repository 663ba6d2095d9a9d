import type { Branded } from '../brand.ts'

/** The number of a SIM card or eSIM profile, check digit included. */
export type Iccid = Branded<string, 'Iccid'>

/** ITU-T E.118 §4: 89 for telecommunication; 19 digits with the check digit, 20 as GSM cards print them. */
const ICCID = /^89[0-9]{17,18}$/
const DIGITS = /^[0-9]+$/

/** The ICCID in a text of 19 or 20 digits that begin with 89 and end in their check digit; else `undefined`. */
export function parseIccid(text: string): Iccid | undefined {
  const isIccid = ICCID.test(text) && luhnCheckDigit(text.slice(0, -1)) === Number(text.at(-1))
  return isIccid ? (text as Iccid) : undefined // the check above is the brand's condition
}

/** The ICCID of a number of 18 or 19 digits without its check digit; `undefined` when it is not such a number. */
export function iccidFrom(body: string): Iccid | undefined {
  const digit = luhnCheckDigit(body)
  return digit === undefined ? undefined : parseIccid(`${body}${digit}`)
}

/**
 * The digit, 0 to 9, that completes a row of digits by the Luhn formula; `undefined` when there is a non-digit.
 *
 * Source: ITU-T E.118 §4.1.4, ISO/IEC 7812-1 annex B.
 */
export function luhnCheckDigit(digits: string): number | undefined {
  if (!DIGITS.test(digits)) return undefined
  const sum = [...digits].reverse().reduce((total, digit, i) => total + luhnTerm(Number(digit), i), 0)
  return (10 - (sum % 10)) % 10
}

/** Every second digit counts double, from the one beside the check digit; a double's digits are added. */
function luhnTerm(digit: number, placeFromRight: number): number {
  if (placeFromRight % 2 === 1) return digit
  return digit > 4 ? digit * 2 - 9 : digit * 2
}
