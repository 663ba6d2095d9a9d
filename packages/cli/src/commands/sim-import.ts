import { readFile } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import type { Command } from 'commander'
import type { ConnectionOptions } from '../client/credentials.ts'
import { connect, isObject, type Json } from '../client/rest-client.ts'
import { failure } from '../command-error.ts'
import { jsonText } from '../output/print.ts'
import { withProgress } from '../output/progress.ts'
import { fields, table } from '../output/table.ts'
import type { Terminal } from '../terminal.ts'
import { restCommand } from './options.ts'

interface ImportOptions extends ConnectionOptions {
  readonly dryRun?: boolean
  readonly atomic?: boolean
  readonly label?: string
}

/** What is imported: its text, what people call it, and the line of each row where it has lines. */
interface Source {
  readonly text: string
  readonly name: string
  readonly isJson: boolean
}

/** `svc sim import` */
export function addImportCommand(sim: Command, terminal: Terminal): void {
  restCommand(
    sim,
    'import <file>',
    'SIMs whose cards exist already: CSV, or JSON when the name ends in .json; - for standard input',
  )
    .option('--dry-run', 'report what would be done and change nothing')
    .option('--atomic', 'all rows or none')
    .option('--label <text>', 'for every row that has none, to find them again')
    .action((file: string, options: ImportOptions) => importFile(terminal, file, options))
}

async function importFile(terminal: Terminal, file: string, options: ImportOptions): Promise<void> {
  const source = await sourceOf(terminal, file)
  if (source.text.trim() === '') throw failure('file_empty', `there is nothing in ${source.name}`)
  const query = new URLSearchParams({
    ...(options.dryRun === true ? { dry_run: 'true' } : {}),
    ...(options.atomic === true ? { atomic: 'true' } : {}),
    ...(options.label === undefined ? {} : { label: options.label }),
  })
  const path = `/v1/sims/import${query.size === 0 ? '' : `?${query}`}`
  const type = { 'content-type': source.isJson ? 'application/json' : 'text/csv' }
  const lines = source.isJson ? undefined : linesOfRows(source.text)
  const what = `importing ${lines === undefined ? source.name : `${lines.length} rows of ${source.name}`}`
  const { body } = await withProgress(terminal, what, () =>
    connect(terminal, options).change('POST', path, source.text, type),
  )
  if (options.json === true) terminal.out(jsonText(body))
  else report(terminal, body, { source, lines, isDry: options.dryRun === true })
  if (body.failed !== 0) terminal.answer(1)
}

async function sourceOf(terminal: Terminal, file: string): Promise<Source> {
  if (file === '-') return { text: await terminal.input(), name: 'standard input', isJson: false }
  const path = resolve(terminal.cwd, file)
  try {
    return { text: await readFile(path, 'utf8'), name: basename(file), isJson: file.endsWith('.json') }
  } catch (cause) {
    throw failure('file_unreadable', `${path} cannot be read: ${(cause as Error).message}`, { cause })
  }
}

/** The line of each data row, from 1: empty lines are no rows, the first that is not is the header. */
function linesOfRows(text: string): readonly number[] {
  const numbers = text
    .split(/\r\n|\n|\r/)
    .flatMap((line, i) => (line.replace('\uFEFF', '').trim() === '' ? [] : [i + 1]))
  return numbers.slice(1)
}

interface Told {
  readonly source: Source
  readonly lines: readonly number[] | undefined
  readonly isDry: boolean
}

function report(terminal: Terminal, body: Json, { source, lines, isDry }: Told): void {
  const { results, ...totals } = body
  if (isDry) {
    const { imported, updated, ...rest } = totals
    const would = {
      'would import': imported,
      ...(updated === undefined ? {} : { 'would update': updated }),
      ...rest,
    }
    terminal.out(`${fields(would)}Nothing was changed: this was a dry run.\n`)
  } else terminal.out(fields(totals))
  const faults = Array.isArray(results)
    ? results.filter(isObject).filter((row) => row.status === 'error')
    : []
  if (faults.length === 0) return
  const where = (row: Json): string => {
    const line = lines?.[Number(row.row) - 1]
    return line === undefined ? `${source.name}: row ${Number(row.row)}` : `${source.name}:${line}`
  }
  const columns = [
    { title: 'WHERE', value: where, fit: 'whole' },
    { title: 'SIM', value: (row: Json) => row.imsi_sha256_12, fit: 'whole' },
    { title: 'ERROR', value: (row: Json) => withoutLine(row.error), fit: 'wrap' },
  ] as const
  terminal.out(`\n${table(faults, columns, terminal.columns)}`)
}

/** Some errors begin with the line, which is said already. */
function withoutLine(error: unknown): unknown {
  return typeof error === 'string' ? error.replace(/^line \d+: /, '') : error
}
