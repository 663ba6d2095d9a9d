import { readFileSync } from 'node:fs'

/** One row of a CSV fixture by column name. */
export type Row = Readonly<Record<string, string>>

/** The rows of `fixtures/<name>.csv`; cells may be quoted, without quotes or line ends inside. */
export function rowsOf(name: string): readonly Row[] {
  const text = readFileSync(new URL(`../../fixtures/${name}.csv`, import.meta.url), 'utf8')
  const [head, ...lines] = text.trim().split(/\r?\n/)
  const columns = head!.split(',')
  return lines.map((line) => Object.fromEntries(cellsOf(line).map((cell, i) => [columns[i]!, cell])))
}

/** A cell of a row; the test fails on a column that the table lacks. */
export function cell(row: Row, column: string): string {
  const value = row[column]
  if (value === undefined) throw new Error(`no column ${column}`)
  return value
}

/** A cell as a number, `undefined` when it is empty. */
export function numberIn(row: Row, column: string): number | undefined {
  return cell(row, column) === '' ? undefined : Number(cell(row, column))
}

/** A cell as the numbers or words in it, separated by spaces. */
export function wordsIn(row: Row, column: string): readonly string[] {
  return cell(row, column).split(' ').filter(Boolean)
}

function cellsOf(line: string): readonly string[] {
  return [...line.matchAll(/(?:^|,)(?:"([^"]*)"|([^,"]*))/g)].map((match) => match[1] ?? match[2] ?? '')
}
