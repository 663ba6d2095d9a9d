import { DURATION_PATTERN, NAME_PATTERN, PLAIN_TEXT_PATTERN } from '@steeple/contracts'

const WORDS: ReadonlyMap<string, string> = new Map([
  [PLAIN_TEXT_PATTERN, 'text without control characters'],
  [NAME_PATTERN, 'text without control characters, and not of spaces alone'],
  [DURATION_PATTERN, 'a duration such as 15s, 5m or 1h30m'],
  ['^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$', 'a UUID in lower case'],
  ['^[A-Z]{2}$', 'two capital letters'],
  ['^[bn][1-9][0-9]{0,2}$', 'a band such as b3 or n78'],
])
const DIGITS = /^\^\[0-9(a-f)?\]\{(\d+)(?:,(\d+))?\}\$$/

/** What a pattern asks for, in words: a regular expression tells nobody what to write. */
export function patternWords(pattern: string): string {
  const known = WORDS.get(pattern)
  if (known !== undefined) return `must be ${known}`
  const [whole, hex, least, most] = DIGITS.exec(pattern) ?? []
  if (whole === undefined)
    return 'has characters, or a form, that is not allowed here; see its description in /v1/openapi.json'
  const count = most === undefined ? least : `${least} to ${most}`
  return `must be ${count} ${hex === undefined ? 'digits' : 'hexadecimal digits in lower case'}`
}
