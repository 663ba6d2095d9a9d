import { rowsHidden } from '@steeple/contracts'
import { type SqlToken, sqlTokens } from './sql-tokens.ts'

/** One finding of a check of the file, and the table that it is of. */
export interface FileProblem {
  readonly table: string
  readonly reason: string
}

/** A statement that uses no index, and the tables that it names. */
interface OtherText {
  readonly text: string
  readonly tables: readonly string[]
  /** Whether it asks for rows by a list of keys, of which some may be missed. */
  readonly isList: boolean
}

/**
 * How much of the time rows may be looked for without an index: such a look goes through a whole table. Before the first check
 * is over most of what is not found is not there; in a damaged table it has to be known.
 */
const SHARE = { unknown: 0.05, damaged: 0.25 }
const MOST_SAVED_MS = 250
/** Of a larger table nobody else could be served meanwhile, before it is known to be damaged. */
const MOST_ROWS = 200_000
const MOST_TEXTS = 1_000

/**
 * What is known of the ways to the rows of a SQLite file. A flipped byte in a page of an index hides a row: nothing is found, and
 * nothing is wrong. As long as the file is not known to be whole, what is not found is looked for without indexes.
 */
export class OtherWays {
  /** Tables whose indexes may hide rows; undefined until a check has looked. */
  #suspects: ReadonlySet<string> | 'all' | undefined
  readonly #texts = new Map<string, OtherText | undefined>()
  #savedMs = MOST_SAVED_MS
  #sinceMs = performance.now()

  /** A check is over; `undefined`: the file could not be read to its end. */
  checked(problems: readonly FileProblem[] | undefined): void {
    this.#suspects = problems === undefined ? 'all' : new Set(problems.map(({ table }) => table))
  }

  /** Whether a check has found that rows may be missed. */
  get isDamaged(): boolean {
    return this.#suspects === 'all' || (this.#suspects?.size ?? 0) > 0
  }

  /**
   * The text to ask once more, past the indexes; undefined where what was found is right. `rows` says how many a table has at most. Throws
   * `store_corrupt` where it would have to be known and too much was looked for of late.
   */
  textFor(sql: string, hasFound: boolean, rows: (table: string) => number): string | undefined {
    const suspects = this.#suspects
    if (suspects === undefined) return hasFound ? undefined : this.#beforeCheck(sql, rows)
    if (suspects !== 'all' && suspects.size === 0) return undefined
    const other = this.#other(sql)
    if (other === undefined || (hasFound && !other.isList)) return undefined
    if (suspects !== 'all' && !other.tables.some((table) => suspects.has(table))) return undefined
    if (this.#hasTime(SHARE.damaged)) return other.text
    if (hasFound) return undefined
    throw rowsHidden()
  }

  #beforeCheck(sql: string, rows: (table: string) => number): string | undefined {
    const other = this.#other(sql)
    const [table, another] = other?.tables ?? []
    if (table === undefined || another !== undefined || !this.#hasTime(SHARE.unknown)) return undefined
    return rows(table) <= MOST_ROWS ? other?.text : undefined
  }

  /** A look past the indexes took so long. */
  spent(ms: number): void {
    this.#savedMs -= ms
  }

  #hasTime(share: number): boolean {
    const nowMs = performance.now()
    this.#savedMs = Math.min(MOST_SAVED_MS, this.#savedMs + (nowMs - this.#sinceMs) * share)
    this.#sinceMs = nowMs
    return this.#savedMs > 0
  }

  #other(sql: string): OtherText | undefined {
    if (this.#texts.has(sql)) return this.#texts.get(sql)
    if (this.#texts.size >= MOST_TEXTS) this.#texts.clear()
    const made = withoutIndexes(sql)
    this.#texts.set(sql, made)
    return made
  }
}

const STATEMENTS: ReadonlySet<string> = new Set(['select', 'update', 'delete'])
/** Behind the name of a table these are no name that it is given. */
const CLAUSES =
  /^(where|group|order|limit|join|inner|left|cross|natural|on|using|set|union|except|returning|having)$/

/** The statement with `not indexed` behind each table; undefined where it names none in a plain way. */
export function withoutIndexes(sql: string): OtherText | undefined {
  const tokens = sqlTokens(sql)
  if (!STATEMENTS.has(tokens[0]?.text ?? '')) return undefined
  const tables: { readonly name: string; readonly end: number }[] = []
  tokens.forEach((token, index) => {
    const brings =
      token.kind === 'word' && (/^(from|join)$/.test(token.text) || (index === 0 && token.text === 'update'))
    for (let at = brings ? index + 1 : -1; at > 0; ) {
      const [name, last] = tableAt(tokens, at)
      if (name === undefined) break
      tables.push({ name, end: tokens[last]?.end ?? 0 })
      at = tokens[last + 1]?.text === ',' ? last + 2 : -1
    }
  })
  if (tables.length === 0) return undefined
  let text = ''
  let from = 0
  for (const { end } of tables) {
    text += `${sql.slice(from, end)} not indexed`
    from = end
  }
  const isList = /\bin \(:/.test(sql)
  return { text: text + sql.slice(from), tables: tables.map(({ name }) => name), isList }
}

/** The table that is named at `at`, and the last token of it, by which it may be given another name. */
function tableAt(tokens: readonly SqlToken[], at: number): readonly [string | undefined, number] {
  const isName = (token: SqlToken | undefined): token is SqlToken =>
    token?.kind === 'name' || (token?.kind === 'word' && !CLAUSES.test(token.text))
  const token = tokens[at]
  const next = tokens[at + 1]
  if (!isName(token) || next?.text === '(' || next?.text === '.') return [undefined, at]
  if (next?.text === 'as') return [token.text, at + 2]
  return [token.text, isName(next) ? at + 1 : at]
}
