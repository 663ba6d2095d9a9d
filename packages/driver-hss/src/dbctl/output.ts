import { southboundUnavailable } from '@steeple/contracts'
import { Int32, Long } from 'bson'
import type { Doc } from '../links/document-link.ts'
import { docsOf } from '../open5gs/slices.ts'
import type { Ran } from './run-tool.ts'
import { failureIn, linesOf } from './words.ts'

const INT32 = /^-?[0-9]{1,10}$/
const TOKEN =
  /\s*(?:([[\]{}(),:])|'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|`((?:[^`\\]|\\.)*)`|(-?[0-9][0-9.eE+-]*)|([A-Za-z_$][\w$]*))/y

/** A piece of what mongosh prints: a sign, a text, a number or a word. */
interface Token {
  readonly kind: 'sign' | 'text' | 'number' | 'word'
  readonly text: string
}

/**
 * The value that mongosh printed, up to its end: lists, documents, texts, numbers and calls such as `Long('32')`.
 *
 * A whole number counts as an `Int32`, since the print does not tell. Undefined when it is none or breaks off.
 */
export function parseShown(printed: string): unknown {
  const tokens = tokensOf(printed)
  let at = 0
  const isSign = (sign: string): boolean => tokens[at]?.kind === 'sign' && tokens[at]?.text === sign
  const expect = (sign: string): void => {
    if (!isSign(sign)) throw new SyntaxError(`no ${sign}`)
    at += 1
  }
  const listUntil = (end: string, item: () => void): void => {
    at += 1
    while (!isSign(end)) {
      item()
      if (!isSign(end)) expect(',')
    }
    at += 1
  }
  const value = (): unknown => {
    const token = tokens[at]
    if (token === undefined) throw new SyntaxError('it breaks off')
    if (token.kind === 'sign') return composite(token.text)
    at += 1
    if (token.kind === 'text') return token.text
    if (token.kind === 'number') return numberOf(token.text)
    return isSign('(') ? called(token.text) : WORDS.get(token.text)
  }
  const composite = (sign: string): unknown => {
    if (sign === '[') {
      const list: unknown[] = []
      listUntil(']', () => list.push(value()))
      return list
    }
    if (sign !== '{') throw new SyntaxError(`a stray ${sign}`)
    const entries: (readonly [string, unknown])[] = []
    listUntil('}', () => {
      const key = tokens[at]?.text ?? ''
      at += 1
      expect(':')
      entries.push([key, value()])
    })
    return Object.fromEntries(entries)
  }
  const called = (name: string): unknown => {
    const values: unknown[] = []
    listUntil(')', () => values.push(value()))
    const [first] = values
    if (name === 'Long' && typeof first === 'string') return Long.fromString(first)
    return typeof first === 'string' ? first : undefined
  }
  try {
    return value()
  } catch {
    return undefined
  }
}

const WORDS: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ['true', true],
  ['false', false],
  ['null', null],
])

/** Stops at the first thing that is no token: what follows a value is none of ours. */
function tokensOf(printed: string): readonly Token[] {
  const tokens: Token[] = []
  const pattern = new RegExp(TOKEN) // its position is its own
  for (let match = pattern.exec(printed); match !== null; match = pattern.exec(printed)) {
    const [, sign, single, double, back, number, word] = match
    const text = single ?? double ?? back
    if (sign !== undefined) tokens.push({ kind: 'sign', text: sign })
    else if (text !== undefined) tokens.push({ kind: 'text', text: text.replace(/\\(.)/g, '$1') })
    else if (number !== undefined) tokens.push({ kind: 'number', text: number })
    else tokens.push({ kind: 'word', text: word ?? '' })
  }
  return tokens
}

function numberOf(text: string): unknown {
  const value = Number(text)
  return INT32.test(text) && Math.abs(value) < 2 ** 31 ? new Int32(value) : value
}

/** What a listing shows. mongosh prints the first 20 documents only. */
export interface Listing {
  readonly docs: readonly Doc[]
  readonly isCut: boolean
}

/** What came of an `add`. */
export function addedBy(ran: Ran): 'added' | 'exists' {
  const { output, errors } = ran
  if (/\backnowledged: true\b/.test(output) && /\binsertedId: ObjectId\(/.test(output)) return 'added'
  // mongosh names it on standard error.
  if (/\bE11000\b/.test(output) || /\bE11000\b/.test(errors)) return 'exists'
  throw failureOf(ran, 'an add')
}

/** How many documents a change found. */
export function matchedBy(ran: Ran): number {
  return countIn(ran, /\bmatchedCount: ([0-9]+)\b/, 'a change')
}

/** How many documents a removal took away. */
export function deletedBy(ran: Ran): number {
  return countIn(ran, /\bdeletedCount: ([0-9]+)\b/, 'a removal')
}

/**
 * The documents of a listing. One that shows nobody counts only when the tool ended well and names no failure: mongosh
 * prints an empty line for an empty database, and nothing for one that is down.
 */
export function listedBy(ran: Ran): Listing {
  const { output } = ran
  const isCut = /^Type "it" for more/m.test(output)
  const start = /^\[/m.exec(output)?.index
  if (start !== undefined) {
    const list = parseShown(output.slice(start))
    const docs = docsOf(list)
    if (!Array.isArray(list) || docs.length !== list.length) throw failureOf(ran, 'a listing')
    if (docs.length > 0) return { docs, isCut }
  } else if (linesOf(output).length > 0) throw failureOf(ran, 'a listing')
  if (ran.code !== 0 || failureIn(ran) !== undefined) throw failureOf(ran, 'a listing')
  return { docs: [], isCut }
}

/** The names of the commands that a help text lists. Throws for a text that is none, whatever its exit code. */
export function helpBy(ran: Ran): ReadonlySet<string> {
  const commands = commandsIn(ran.output)
  // Every tool has this one. A tool that was ended may not have come to its last command.
  if (ran.code === undefined || !commands.has('add_ue_with_apn')) throw failureOf(ran, 'help')
  return commands
}

/** The names of the commands that a help text lists. */
function commandsIn(help: string): ReadonlySet<string> {
  return new Set([...help.matchAll(/^\s+([a-z][a-z0-9_]*)(?: \{[^}]*\})?:/gim)].map(([, name = '']) => name))
}

function countIn(ran: Ran, pattern: RegExp, what: string): number {
  const count = pattern.exec(ran.output)?.[1]
  if (count === undefined) throw failureOf(ran, what)
  return Number(count)
}

function failureOf(ran: Ran, what: string): Error {
  const words = failureIn(ran)
  if (words !== undefined) return southboundUnavailable(`dbctl failed: ${words}`)
  const how = ran.code === undefined ? 'it was ended' : `it ended with ${ran.code}`
  return southboundUnavailable(`the output of dbctl for ${what} says nothing that can be read; ${how}`)
}
