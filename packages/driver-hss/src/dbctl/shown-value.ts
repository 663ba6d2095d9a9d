import { Int32, Long } from 'bson'

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
