/** One piece of a SQL text. `text` of a word is lower case; of a quoted name it is the name without its quotes. */
export interface SqlToken {
  readonly kind: 'word' | 'name' | 'param' | 'string' | 'number' | 'mark'
  readonly text: string
  /** Where the text goes on behind it. */
  readonly end: number
}

const PATTERN =
  /(?<space>\s+)|(?<word>[A-Za-z_]\w*)|"(?<name>[^"]+)"|(?<cast>::)|:(?<param>[A-Za-z_]\w*)|'(?<string>(?:[^']|'')*)'|(?<number>\d+(?:\.\d+)?)|(?<mark>[(),.;=<>!+\-*/%|&])/y

/**
 * Cuts a SQL text into the pieces that SQLite and PostgreSQL read alike.
 *
 * Comments, backslashes, `?`, `$`, brackets and backticks are refused: the two dialects (or the compiler) read them
 * differently, and what a check did not understand must not run.
 */
export function sqlTokens(sql: string): readonly SqlToken[] {
  const tokens: SqlToken[] = []
  const pattern = new RegExp(PATTERN)
  if (sql.includes('--') || sql.includes('/*')) throw new Error(`comments are not allowed in SQL: ${sql}`)
  while (pattern.lastIndex < sql.length) {
    const at = pattern.lastIndex
    const groups = pattern.exec(sql)?.groups
    if (groups === undefined)
      throw new Error(`SQL that this store does not read, at "${sql.slice(at, at + 20)}": ${sql}`)
    const token = tokenOf(groups)
    if (token !== undefined) tokens.push({ ...token, end: pattern.lastIndex })
  }
  return tokens
}

function tokenOf(groups: Readonly<Record<string, string | undefined>>): Omit<SqlToken, 'end'> | undefined {
  if (groups.space !== undefined) return undefined
  if (groups.word !== undefined) return { kind: 'word', text: groups.word.toLowerCase() }
  if (groups.name !== undefined) return { kind: 'name', text: groups.name }
  if (groups.param !== undefined) return { kind: 'param', text: groups.param }
  if (groups.string !== undefined) return { kind: 'string', text: groups.string }
  if (groups.number !== undefined) return { kind: 'number', text: groups.number }
  return { kind: 'mark', text: groups.cast ?? groups.mark ?? '' }
}
