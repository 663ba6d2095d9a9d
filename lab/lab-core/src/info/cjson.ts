/** What cJSON can print. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json }

const INT_MAX = 2 ** 31 - 1

/** A value as cJSON's unformatted print has it; numbers are doubles printed by `cjsonNumber`. */
export function cjson(value: Json): string {
  if (typeof value === 'number') return cjsonNumber(value)
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  if (isList(value)) return `[${value.map(cjson).join(',')}]`
  const members = Object.entries(value).map(([key, member]) => `${JSON.stringify(key)}:${cjson(member)}`)
  return `{${members.join(',')}}`
}

/**
 * A number as cJSON 1.7 prints it: an int as `%d`, anything else as `%1.15g` when that reads back as (nearly) the same
 * number, else as `%1.17g`. So a timestamp of 16 digits that ends in 0 comes with an exponent.
 */
export function cjsonNumber(value: number): string {
  if (!Number.isFinite(value)) return 'null'
  if (Number.isInteger(value) && Math.abs(value) <= INT_MAX) return String(value)
  const short = general(value, 15)
  return isNearly(Number(short), value) ? short : general(value, 17)
}

/** C's `%.<precision>g`. */
function general(value: number, precision: number): string {
  const [mantissa = '0', exponentText = '0'] = value.toExponential(precision - 1).split('e')
  const exponent = Number(exponentText)
  if (exponent < -4 || exponent >= precision) {
    const sign = exponent < 0 ? '-' : '+'
    return `${trimmed(mantissa)}e${sign}${String(Math.abs(exponent)).padStart(2, '0')}`
  }
  return trimmed(value.toFixed(precision - 1 - exponent))
}

function trimmed(digits: string): string {
  return digits.includes('.') ? digits.replace(/\.?0+$/, '') : digits
}

function isNearly(left: number, right: number): boolean {
  return Math.abs(left - right) <= Math.max(Math.abs(left), Math.abs(right)) * Number.EPSILON
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value)
}
