import { DURATION_PATTERN, type ErrorDetail, NAME_PATTERN, PLAIN_TEXT_PATTERN } from '@steeple/contracts'
import type { ErrorObject } from 'ajv'

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

/** At most so many broken rules are listed. */
const MAX_DETAILS = 32
/** Names come from the request; longer ones are cut. */
const MAX_NAME_CHARS = 80
/** What each rule about a length says, and of what. */
const LIMITS: Readonly<Record<string, readonly [bound: string, one: string, many: string]>> = {
  minLength: ['at least', 'character', 'characters'],
  maxLength: ['at most', 'character', 'characters'],
  minItems: ['at least', 'entry', 'entries'],
  maxItems: ['at most', 'entry', 'entries'],
}

/** ajv's errors as details: a JSON pointer (RFC 6901) and a message that names rules and properties, never values. */
export function detailsFrom(errors: readonly ErrorObject[]): readonly ErrorDetail[] {
  const seen = new Map<string, ErrorDetail>()
  for (const error of errors) {
    if (seen.size === MAX_DETAILS) break
    const detail = detailFrom(error)
    seen.set(`${detail.pointer} ${detail.message}`, detail)
  }
  return [...seen.values()]
}

function detailFrom(error: ErrorObject): ErrorDetail {
  const { additionalProperty, unevaluatedProperty, missingProperty, allowedValues } = error.params
  const unknown = additionalProperty ?? unevaluatedProperty
  if (typeof unknown === 'string') {
    return { pointer: below(error, unknown), message: `unknown property ${shown(unknown)}` }
  }
  if (typeof missingProperty === 'string') {
    return { pointer: below(error, missingProperty), message: `${missingProperty} is required` }
  }
  if (Array.isArray(allowedValues)) {
    return { pointer: at(error), message: `must be one of: ${allowedValues.map(String).join(', ')}` }
  }
  if (error.keyword === 'pattern')
    return { pointer: at(error), message: patternWords(String(error.params.pattern)) }
  return {
    pointer: at(error),
    message: limitWords(error) ?? error.message ?? `breaks the rule ${error.keyword}`,
  }
}

/** What is too short, too long, too few or too many, as a person would say it. */
function limitWords({ keyword, params }: ErrorObject): string | undefined {
  const words = LIMITS[keyword]
  if (words === undefined) return undefined
  const [bound, one, many] = words
  return `must have ${bound} ${params.limit} ${params.limit === 1 ? one : many}`
}

function at(error: ErrorObject): string {
  return error.instancePath.slice(0, 512)
}

function below(error: ErrorObject, property: string): string {
  return `${at(error)}${pointerTo(property)}`
}

/** Details that name each of the given properties as unknown. `noun` says what they are. */
export function unknownNames(noun: string, names: readonly string[]): readonly ErrorDetail[] {
  return names.slice(0, MAX_DETAILS).map((name) => ({
    pointer: pointerTo(name),
    message: `unknown ${noun} ${shown(name)}`,
  }))
}

/** The JSON pointer to a property of the root, RFC 6901 escapes included. */
function pointerTo(name: string): string {
  return `/${shown(name).replaceAll('~', '~0').replaceAll('/', '~1')}`
}

function shown(name: string): string {
  return name.length <= MAX_NAME_CHARS ? name : `${name.slice(0, MAX_NAME_CHARS)}…`
}
