import { type SqlToken, sqlTokens } from './sql-tokens.ts'

/** The prefix of the tables and indexes of a plugin: `fair-use` owns `fair_use_*`. */
export function tablePrefix(owner: string): string {
  return `${owner.replaceAll('-', '_')}_`
}

const STATEMENTS = new Set(['select', 'insert', 'update', 'delete', 'with'])
/** A table name follows these, unless they are part of `for update`, `do update`. */
const BEFORE_TABLE = new Set(['from', 'join', 'into', 'update'])
/** These end a list of tables, in which a comma brings the next one. */
const AFTER_TABLES = new Set([
  'where',
  'group',
  'order',
  'limit',
  'union',
  'set',
  'returning',
  'having',
  'select',
  'values',
])

/**
 * The tables that a statement reads or writes, by every place where SQL names one. Names given by `with` are left out.
 *
 * It errs on the side of seeing a table: `extract(year from at)` counts `at` as one.
 */
export function tablesOf(sql: string): readonly string[] {
  const tokens = sqlTokens(sql)
  const first = tokens[0]?.text ?? ''
  if (!STATEMENTS.has(first))
    throw new Error(`only select, insert, update, delete and with are allowed: ${sql}`)
  if (tokens.some((token) => token.text === ';' && token.kind === 'mark'))
    throw new Error(`one statement at a time: ${sql}`)
  const given = givenNames(tokens)
  return namedTables(tokens).filter((table) => !given.has(table))
}

/** Names that `with name as (…)` gives. */
function givenNames(tokens: readonly SqlToken[]): ReadonlySet<string> {
  const given = new Set<string>()
  tokens.forEach((token, index) => {
    const before = tokens[index - 1]?.text
    const follows = tokens[index + 1]?.text === 'as' && tokens[index + 2]?.text === '('
    if (isName(token) && follows && (before === 'with' || before === ',' || before === 'recursive'))
      given.add(token.text)
  })
  return given
}

function isName(token: SqlToken | undefined): token is SqlToken {
  return token?.kind === 'word' || token?.kind === 'name'
}

function namedTables(tokens: readonly SqlToken[]): readonly string[] {
  const tables: string[] = []
  /** For each open parenthesis: whether its commas separate tables. */
  const inTables: boolean[] = []
  let isList = false
  let isExpected = false
  tokens.forEach((token, index) => {
    if (token.kind === 'mark') {
      if (token.text === '(') {
        // `from (a, b)` and `from (select …)`: the next name may still be a table.
        inTables.push(isList)
        isList = isExpected
        return
      }
      if (token.text === ')') isList = inTables.pop() ?? false
      isExpected = token.text === ',' && isList
      return
    }
    const isTable = isExpected && isName(token) && !NOT_A_TABLE.has(token.text)
    if (isTable) tables.push(qualified(tokens, index))
    isExpected = !isTable && bringsTable(tokens, index)
    isList = listsTables(token, isList)
  })
  return tables
}

/** In the place of a table, these begin something else. */
const NOT_A_TABLE = new Set(['select', 'lateral', 'values'])

function bringsTable(tokens: readonly SqlToken[], index: number): boolean {
  const token = tokens[index]
  return token?.kind === 'word' && BEFORE_TABLE.has(token.text) && !isRowLockOrUpsert(tokens, index)
}

function listsTables(token: SqlToken, isList: boolean): boolean {
  if (token.kind !== 'word') return isList
  return token.text === 'from' || (isList && !AFTER_TABLES.has(token.text))
}

function isRowLockOrUpsert(tokens: readonly SqlToken[], index: number): boolean {
  const before = tokens[index - 1]?.text
  return tokens[index]?.text === 'update' && (before === 'do' || before === 'for')
}

/** A name with a dot or a call is no plain table; give it in a form that fits no prefix. */
function qualified(tokens: readonly SqlToken[], index: number): string {
  const name = tokens[index]?.text ?? ''
  const next = tokens[index + 1]
  const isCall = next?.text === '(' && tokens[index - 1]?.text !== 'into'
  return next?.text === '.' || isCall ? `?.${name}` : name
}

/** Refuses a statement that names tables of others. Throws an Error that names table and owner. */
export function checkScope(owner: string, sql: string): void {
  const prefix = tablePrefix(owner)
  const foreign = tablesOf(sql).find((table) => !table.startsWith(prefix))
  if (foreign !== undefined)
    throw new Error(`plugin ${owner} may not touch the table ${foreign}, only ${prefix}*: ${sql}`)
}
