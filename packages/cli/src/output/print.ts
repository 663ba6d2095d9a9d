import type { Terminal } from '../terminal.ts'
import { type Column, fields, table } from './table.ts'

/** The answer as it is (`--json`), or as `name  value` lines. */
export function printRecord(
  terminal: Terminal,
  isJson: boolean,
  record: Readonly<Record<string, unknown>>,
): void {
  terminal.out(isJson ? jsonText(record) : fields(record))
}

/** The rows of a list: `{<key>: [row], next_cursor}` with `--json`, a table otherwise. */
export function printList<Row>(
  terminal: Terminal,
  isJson: boolean,
  list: { readonly key: string; readonly rows: readonly Row[]; readonly nextCursor: string | null },
  columns: readonly Column<Row>[],
): void {
  if (isJson) {
    terminal.out(jsonText({ [list.key]: list.rows, next_cursor: list.nextCursor }))
    return
  }
  terminal.out(table(list.rows, columns, terminal.columns))
  if (list.nextCursor !== null)
    terminal.err(`Only the first ${list.rows.length} are shown; --limit shows more.\n`)
}

/** A value as indented JSON with a final newline. */
export function jsonText(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`
}
