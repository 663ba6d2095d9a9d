import { tablePrefix } from './scope.ts'
import { type SqlToken, sqlTokens } from './sql-tokens.ts'

/** Words that start a schema step, up to the name of the table or index. `[x]` may be left out. */
const FORMS: readonly { readonly words: readonly string[]; readonly after?: string }[] = [
  { words: ['create', 'table', 'if', 'not', 'exists'] },
  { words: ['create', 'table'] },
  { words: ['create', 'unique', 'index', 'if', 'not', 'exists'], after: 'on' },
  { words: ['create', 'index', 'if', 'not', 'exists'], after: 'on' },
  { words: ['create', 'unique', 'index'], after: 'on' },
  { words: ['create', 'index'], after: 'on' },
  { words: ['alter', 'table'], after: 'add' },
  { words: ['drop', 'index', 'if', 'exists'] },
]

/**
 * Refuses a schema step that is not additive or that is about tables of others.
 * Throws an Error that names the step and what is allowed.
 */
export function checkAdditive(owner: string, ddl: string): void {
  const tokens = sqlTokens(ddl)
  const form = FORMS.find(({ words }) => words.every((word, index) => tokens[index]?.text === word))
  if (form === undefined)
    throw refused(
      owner,
      ddl,
      'only create table, create index, alter table add column and drop index if exists',
    )
  if (tokens.some((token) => token.kind === 'mark' && token.text === ';'))
    throw refused(owner, ddl, 'one statement for each step')
  const at = form.words.length
  if (form.after === 'add' && !isAddColumn(tokens, at))
    throw refused(owner, ddl, 'alter table only with add column')
  if (form.after === 'add' && isDemanded(tokens))
    throw refused(owner, ddl, 'older code writes rows without it: leave out not null or give a default')
  if (form.words[1] === 'table' && form.after === undefined && !isListOfColumns(tokens, at))
    throw refused(owner, ddl, 'create table only with its columns, not from other rows')
  const prefix = tablePrefix(owner)
  const foreign = namesOf(tokens, at, form.after).find((name) => !name.startsWith(prefix))
  if (foreign !== undefined) throw refused(owner, ddl, `${foreign} does not begin with ${prefix}`)
}

function isAddColumn(tokens: readonly SqlToken[], at: number): boolean {
  return (
    tokens[at + 1]?.text === 'add' &&
    tokens[at + 2]?.text === 'column' &&
    !tokens.some((token) => token.kind === 'mark' && token.text === ',' && isOutermost(tokens, token))
  )
}

function isDemanded(tokens: readonly SqlToken[]): boolean {
  const words = tokens.map(({ text }) => text)
  return words.some((word, at) => word === 'not' && words[at + 1] === 'null') && !words.includes('default')
}

/** `name (…)`: what follows the name begins a list; `as select` would copy the rows of any table. */
function isListOfColumns(tokens: readonly SqlToken[], at: number): boolean {
  return (
    tokens[at + 1]?.text === '(' && !tokens.some(({ kind, text }) => kind === 'word' && text === 'select')
  )
}

/** Whether the mark is outside all parentheses. */
function isOutermost(tokens: readonly SqlToken[], mark: SqlToken): boolean {
  let depth = 0
  for (const token of tokens) {
    if (token === mark) return depth === 0
    if (token.kind !== 'mark') continue
    if (token.text === '(') depth++
    if (token.text === ')') depth--
  }
  return false
}

/** The table or index, the table of an index, and every table that is referenced. A qualified name keeps its dot. */
function namesOf(tokens: readonly SqlToken[], at: number, after: string | undefined): readonly string[] {
  const names = [nameAt(tokens, at)]
  if (after === 'on') names.push(tokens[at + 1]?.text === 'on' ? nameAt(tokens, at + 2) : '?')
  tokens.forEach((token, index) => {
    if (token.kind === 'word' && token.text === 'references') names.push(nameAt(tokens, index + 1))
  })
  return names
}

function nameAt(tokens: readonly SqlToken[], index: number): string {
  const name = tokens[index]?.text ?? '?'
  return tokens[index + 1]?.text === '.' ? `?.${name}` : name
}

function refused(owner: string, ddl: string, why: string): Error {
  return new Error(`the migration of ${owner} is refused (${why}): ${ddl}`)
}
