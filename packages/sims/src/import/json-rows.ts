import { malformedJson, validationFailed } from '@steeple/contracts'
import type { Place } from './csv.ts'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const OPEN_LIST = 0x5b
const CLOSE_LIST = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const OPENING: readonly number[] = [OPEN_LIST, OPEN_OBJECT]
const CLOSING: readonly number[] = [CLOSE_LIST, CLOSE_OBJECT]
/** What is behind a value. */
const ENDS: readonly number[] = [COMMA, ...CLOSING]
/** Octets of JSON that are looked at without giving others a turn. */
const LOOKED_AT_ONCE = 262_144
/** A body up to this size is parsed to say what is wrong with it. */
const EXPLAINED_BYTES = 65_536

/**
 * Where the rows of `{"sims": [row, …]}` are, without parsing them. Undefined now and then, where no row ended for
 * long: others may have a turn. Throws `malformed_json`, and `validation_failed` for JSON of another form.
 */
export function* jsonRows(bytes: Buffer): Generator<Place | undefined> {
  let at = yield* behindSpace(bytes, yield* startOfList(bytes))
  let isMore = bytes[at] !== CLOSE_LIST
  if (!isMore) at += 1
  while (isMore) {
    const from = yield* behindSpace(bytes, at)
    const to = yield* endOfValue(bytes, from)
    if (to === from || bytes[to] === CLOSE_OBJECT) throw malformedAt(to)
    yield { line: null, from, to }
    at = to + 1
    isMore = bytes[to] === COMMA
  }
  at = yield* behindSpace(bytes, at)
  if (bytes[at] === COMMA) throw otherForm(bytes)
  if (bytes[at] !== CLOSE_OBJECT) throw malformedAt(at)
  at = yield* behindSpace(bytes, at + 1)
  if (at < bytes.length) throw malformedAt(at)
}

/** The value of a row's octets. Throws `malformed_json`. */
export function jsonRow(bytes: Buffer, { from, to }: Place): unknown {
  const text = bytes.toString('utf8', from, to)
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && Object.hasOwn(value, '__proto__'))
      throw malformedJson('the property __proto__ is not accepted')
    return value
  } catch (error) {
    // V8's message quotes the text, which may hold a secret.
    throw error instanceof SyntaxError ? malformedAt(from) : error
  }
}

/** Just behind the `[` of `{"sims": [`. */
function* startOfList(bytes: Buffer): Generator<undefined, number> {
  let at = 0
  for (const part of ['{', '"sims"', ':', '[']) {
    at = yield* behindSpace(bytes, at)
    if (bytes.toString('latin1', at, at + part.length) !== part) throw otherForm(bytes)
    at += part.length
  }
  return at
}

/** The end of the value that begins at `from`: the `,`, `]` or `}` behind it. */
function* endOfValue(bytes: Buffer, from: number): Generator<undefined, number> {
  const place = { at: from, depth: 0, isText: false }
  while (place.at < bytes.length) {
    if (isEndFound(bytes, place, Math.min(bytes.length, place.at + LOOKED_AT_ONCE))) return place.at
    yield undefined
  }
  throw malformedJson('it ends too early or is misspelt')
}

/** Goes on up to `limit`; true when `at` is the end of the value. */
function isEndFound(
  bytes: Buffer,
  place: { at: number; depth: number; isText: boolean },
  limit: number,
): boolean {
  for (; place.at < limit; place.at++) {
    const octet = bytes[place.at] ?? 0
    if (octet === QUOTE) place.isText = !place.isText
    else if (place.isText) place.at += octet === BACKSLASH ? 1 : 0
    else if (place.depth === 0 && ENDS.includes(octet)) return true
    else place.depth += stepOf(octet)
  }
  return false
}

function stepOf(octet: number): number {
  if (OPENING.includes(octet)) return 1
  return CLOSING.includes(octet) ? -1 : 0
}

function* behindSpace(bytes: Buffer, from: number): Generator<undefined, number> {
  let at = from
  while (isSpace(bytes[at])) {
    at += 1
    if ((at - from) % LOOKED_AT_ONCE === 0) yield undefined
  }
  return at
}

/** RFC 8259 §2. */
function isSpace(octet: number | undefined): boolean {
  return octet === 0x20 || octet === 0x0a || octet === 0x0d || octet === 0x09
}

function malformedAt(at: number): Error {
  return malformedJson(`see byte ${at}`)
}

/** JSON of another form, or no JSON at all. */
function otherForm(bytes: Buffer): Error {
  if (bytes.length <= EXPLAINED_BYTES) {
    try {
      JSON.parse(bytes.toString('utf8'))
    } catch {
      return malformedJson('it ends too early or is misspelt')
    }
  }
  const message = 'must be {"sims": [row, …]} and have nothing beside it'
  return validationFailed(`body: ${message}`, { details: [{ pointer: '', message }] })
}
