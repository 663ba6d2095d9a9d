import type { AnswerOf } from '@steeple/client'
import type { Terminal } from '../terminal.ts'
import { type Column, fields, moment, printable, table } from './table.ts'

export interface PrintOptions {
  readonly json?: boolean
}

/** The answer as it is (`--json`), or as `name  value` lines. */
export function printRecord(
  terminal: Terminal,
  { json: isJson }: PrintOptions,
  record: Readonly<Record<string, unknown>>,
): void {
  terminal.out(isJson === true ? jsonText(record) : fields(record))
}

/** The rows of a list: `{<key>: [row], next_cursor}` with `--json`, a table otherwise. */
export function printList<Row>(
  terminal: Terminal,
  { json: isJson }: PrintOptions,
  list: { readonly key: string; readonly rows: readonly Row[]; readonly nextCursor: string | null },
  columns: readonly Column<Row>[],
): void {
  if (isJson === true) {
    terminal.out(jsonText({ [list.key]: list.rows, next_cursor: list.nextCursor }))
    return
  }
  terminal.out(table(list.rows, columns, terminal.columns))
  if (list.nextCursor !== null)
    terminal.err(`Only the first ${list.rows.length} are shown; --limit shows more.\n`)
}

/** A record with a list in it: names and values of the rest, and the list as a table. The answer as it is with `--json`. */
export function printWithTable<Row>(
  terminal: Terminal,
  { json: isJson }: PrintOptions,
  record: Readonly<Record<string, unknown>>,
  { rest, rows }: { readonly rest: Readonly<Record<string, unknown>>; readonly rows: readonly Row[] },
  columns: readonly Column<Row>[],
): void {
  terminal.out(
    isJson === true ? jsonText(record) : `${fields(rest)}\n${table(rows, columns, terminal.columns)}`,
  )
}

export type Incident = AnswerOf<'GET', '/v1/health'>['incidents'][number]

/** Outages as people read them: what it is, what it means for phones, since when, and what to do. Nothing where nothing is wrong. */
export function incidentText(incidents: readonly Incident[], service: URL): string {
  return incidents
    .map(({ severity, title, impact, since, advice, runbook, component, detail }) => {
      const first = `${severity === 'critical' ? 'OUTAGE' : 'ATTENTION'}: ${title}`
      const cause = `Cause: ${component}: ${detail}`
      const help = `More: ${new URL(runbook, service).href}`
      return [first, `${impact} Since ${moment(since)}.`, cause, advice, help]
        .map((line, at) => `${at === 0 ? '' : '  '}${printable(line)}\n`)
        .join('')
    })
    .map((text) => `${text}\n`)
    .join('')
}

/** A value as indented JSON with a final newline. */
export function jsonText(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`
}
