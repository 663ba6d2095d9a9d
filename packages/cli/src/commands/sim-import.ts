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
  readonly yes?: boolean
}

/** Changes that a dry run shows. */
const MOST_CHANGES = 50

/** What is imported: its octets as they are, which the service reads, and what people call it. */
interface Source {
  readonly octets: Uint8Array
  readonly name: string
}

/** `svc sim import` */
export function addImportCommand(sim: Command, terminal: Terminal): void {
  restCommand(
    sim,
    'import <file>',
    'SIMs whose cards exist already: CSV or JSON, as many tools write it; - for standard input',
  )
    .option('--dry-run', 'report what would be done and change nothing')
    .option('--atomic', 'all rows or none')
    .option('--yes', 'do not ask after the first rows were shown')
    .option('--label <text>', 'for every row that has none, to find them again')
    .action((file: string, options: ImportOptions) => importFile(terminal, file, options))
}

async function importFile(terminal: Terminal, file: string, options: ImportOptions): Promise<void> {
  const source = await sourceOf(terminal, file)
  if (source.octets.every((octet) => octet <= 0x20))
    throw failure('file_empty', `there is nothing in ${source.name}`)
  const query = new URLSearchParams({
    ...(options.atomic === true ? { atomic: 'true' } : {}),
    ...(options.label === undefined ? {} : { label: options.label }),
  })
  const send = async (isDry: boolean): Promise<Json> => {
    if (isDry) query.set('dry_run', 'true')
    else query.delete('dry_run')
    const path = `/v1/sims/import${query.size === 0 ? '' : `?${query}`}`
    const type = { 'content-type': 'text/csv' }
    return (await connect(terminal, options).change('POST', path, source.octets, type)).body
  }
  // A person sees the first rows as they are understood before anything is written.
  const isAsked =
    options.dryRun !== true && options.yes !== true && terminal.ask !== undefined && options.json !== true
  if (isAsked && !(await isWanted(terminal, source, await send(true)))) {
    terminal.err('Nothing was imported.\n')
    return terminal.answer(1)
  }
  const isDry = options.dryRun === true
  const body = await withProgress(terminal, `importing ${source.name}`, () => send(isDry))
  if (options.json === true) terminal.out(jsonText(body))
  else {
    if (!isAsked) terminal.out(understood(terminal, body))
    report(terminal, body, { source, isDry })
  }
  if (body.failed !== 0) terminal.answer(1)
}

async function isWanted(terminal: Terminal, source: Source, dry: Json): Promise<boolean> {
  terminal.out(understood(terminal, dry))
  report(terminal, dry, { source, isDry: true })
  const rows = Number(dry.imported) + Number(dry.updated ?? 0)
  if (rows === 0) return false
  const answer = await terminal.ask?.(`Import ${rows} ${rows === 1 ? 'SIM' : 'SIMs'}? [y/N] `, false)
  return /^y(es)?$/i.test(answer?.trim() ?? '')
}

/** The first rows as they are understood, and the columns that are not read. */
function understood(terminal: Terminal, { columns, first_rows: rows }: Json): string {
  const unread = (Array.isArray(columns) ? columns : [])
    .filter(isObject)
    .flatMap(({ name, read_as: column }) => (column === null && name !== '' ? [String(name)] : []))
  const left = unread.length === 0 ? '' : `Columns that are not read: ${unread.join(', ')}\n\n`
  const first = Array.isArray(rows) ? rows.filter(isObject) : []
  if (first.length === 0) return left
  const shown = [
    { title: 'ROW', value: (row: Json) => row.row },
    { title: 'SIM', value: (row: Json) => row.imsi_sha256_12, fit: 'whole' },
    { title: 'ICCID', value: (row: Json) => (row.iccid_last4 === null ? '' : `…${String(row.iccid_last4)}`) },
    { title: 'NUMBER', value: (row: Json) => row.msisdn },
    { title: 'PROFILE', value: (row: Json) => row.profile },
    { title: 'APNS', value: (row: Json) => row.apns },
    { title: 'LABEL', value: (row: Json) => row.label },
  ] as const
  return `The first rows are read as:\n${table(first, shown, terminal.columns)}\n${left}`
}

async function sourceOf(terminal: Terminal, file: string): Promise<Source> {
  if (file === '-') return { octets: await terminal.octets(), name: 'standard input' }
  const path = resolve(terminal.cwd, file)
  try {
    return { octets: await readFile(path), name: basename(file) }
  } catch (cause) {
    throw failure('file_unreadable', `${path} cannot be read: ${(cause as Error).message}`, { cause })
  }
}

interface Told {
  readonly source: Source
  readonly isDry: boolean
}

function report(terminal: Terminal, body: Json, { source, isDry }: Told): void {
  const { results, columns: _columns, first_rows: _rows, ...totals } = body
  if (isDry) {
    const { imported, updated, ...rest } = totals
    const would = {
      'would import': imported,
      ...(updated === undefined ? {} : { 'would update': updated }),
      ...rest,
    }
    terminal.out(`${fields(would)}Nothing was changed: this was a dry run.\n`)
  } else terminal.out(fields(totals))
  const rows = Array.isArray(results) ? results.filter(isObject) : []
  const where = (row: Json): string => {
    return typeof row.line === 'number'
      ? `${source.name}:${row.line}`
      : `${source.name}: row ${Number(row.row)}`
  }
  if (isDry) showOverwritten(terminal, rows, where)
  const faults = rows.filter((row) => row.status === 'error')
  if (faults.length === 0) return
  const columns = [
    { title: 'WHERE', value: where, fit: 'whole' },
    { title: 'SIM', value: (row: Json) => row.imsi_sha256_12, fit: 'whole' },
    { title: 'ERROR', value: (row: Json) => withoutLine(row.error), fit: 'wrap' },
  ] as const
  terminal.out(`\n${table(faults, columns, terminal.columns)}`)
}

/** What the HSS has already and would have otherwise afterwards; the first rows, since all may be there. */
function showOverwritten(terminal: Terminal, rows: readonly Json[], where: (row: Json) => string): void {
  const changes = rows.flatMap((row) =>
    (Array.isArray(row.overwrites) ? row.overwrites.filter(isObject) : []).map((change) => ({ row, change })),
  )
  if (changes.length === 0) return
  const shown = changes.slice(0, MOST_CHANGES).map(({ row, change }) => ({ ...change, where: where(row) }))
  const columns = [
    { title: 'WHERE', value: (one: Json) => one.where, fit: 'whole' },
    { title: 'IN THE HSS', value: (one: Json) => one.field, fit: 'whole' },
    { title: 'NOW', value: (one: Json) => one.before, fit: 'wrap' },
    { title: 'AFTERWARDS', value: (one: Json) => one.after, fit: 'wrap' },
  ] as const
  const more = changes.length - shown.length
  const rest = more === 0 ? '' : `and ${more} more changes; --json shows all\n`
  terminal.out(
    `\nSubscribers that the HSS has already would change:\n${table(shown, columns, terminal.columns)}${rest}`,
  )
}

/** Some errors begin with the line, which is said already. */
function withoutLine(error: unknown): unknown {
  return typeof error === 'string' ? error.replace(/^line \d+: /, '') : error
}
