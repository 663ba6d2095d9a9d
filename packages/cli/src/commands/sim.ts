import { readFile } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import { type Command, Option } from 'commander'
import type { ConnectionOptions } from '../client/credentials.ts'
import { connect, isObject, type Json, type List, objectsOf, type RestClient } from '../client/rest-client.ts'
import { failure, usageError } from '../command-error.ts'
import { jsonText, printList, printRecord } from '../output/print.ts'
import { withProgress } from '../output/progress.ts'
import { fields, printable, table } from '../output/table.ts'
import { part as compliance } from '../parts/compliance.ts'
import { part as fairUse } from '../parts/fair-use.ts'
import type { PlaceOptions } from '../place.ts'
import type { Terminal } from '../terminal.ts'
import { type NewSimOptions, newSimBody, newSimOptions } from './new-sims.ts'
import { type ListOptions, limitOption, localCommand, placeOptions, restCommand } from './options.ts'
import { SIM_COLUMNS, SIM_STATES, simPath } from './sim-columns.ts'

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
function addImportCommand(sim: Command, terminal: Terminal): void {
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

/** Digits of a whole IMSI or ICCID: TS 23.003 §2.2, ITU-T E.118. */
const WHOLE = /^\+?[0-9]{14,20}$/
const IMSI_DIGITS = 15
const HASH = /^[0-9a-f]{12}$/

/** `svc sim find|why|label` */
function addFindCommands(sim: Command, terminal: Terminal): void {
  restCommand(
    sim,
    'find <text...>',
    'by words of the label, the last digits of ICCID or number, or a whole IMSI, ICCID or number',
  )
    .addOption(limitOption())
    .addHelpText(
      'after',
      '\nWhat is typed here stands in the list of processes and in the history of the shell. With - the text is read from\n' +
        'standard input, which is the way for whole IMSIs and ICCIDs.',
    )
    .action((words: readonly string[], options: ListOptions) => find(terminal, words.join(' '), options))
  restCommand(sim, 'why <sim>', 'why its phone is not on the network, and what to do').action(
    (text: string, options: ConnectionOptions) => why(terminal, text, options),
  )
  restCommand(sim, 'label <hash> [text]', 'give a SIM a label, to find it again; --none takes it away')
    .option('--none', 'take the label away')
    .action(
      (hash: string, text: string | undefined, options: ConnectionOptions & { readonly none?: boolean }) =>
        label(terminal, hash, text, options),
    )
}

async function find(terminal: Terminal, text: string, options: ListOptions): Promise<void> {
  const client = connect(terminal, options)
  const found = await search(client, await textOf(terminal, text), options.limit)
  if (found.rows.length === 0 && options.json !== true) terminal.err('No SIM matches.\n')
  if (found.rows.length > 0 || options.json === true)
    printList(terminal, options.json === true, found, SIM_COLUMNS)
  if (found.rows.length === 0) terminal.answer(1)
}

/** Whole identifiers travel in a body: an address is written to logs. */
async function search(client: RestClient, text: string, limit: number): Promise<List> {
  if (!WHOLE.test(text)) return await client.list('/v1/sims', 'sims', limit, { q: text })
  const digits = text.replace('+', '')
  const bodies: Record<string, string>[] = []
  if (digits.length <= IMSI_DIGITS) bodies.push({ imsi: digits }, { msisdn: digits })
  if (digits.length >= 18) bodies.push({ iccid: digits })
  const rows: Json[] = []
  for (const body of bodies) {
    const answer = await client.change('POST', '/v1/sims/find', body)
    if (Array.isArray(answer.body.sims)) rows.push(...answer.body.sims.filter(isObject))
  }
  return { key: 'sims', rows, nextCursor: null }
}

async function textOf(terminal: Terminal, text: string): Promise<string> {
  const read = (text === '-' ? await terminal.input() : text).trim()
  if (read === '') throw usageError('there is nothing to search for')
  return read
}

/** The hash of the one SIM that a text names; a hash is taken as it is. */
async function oneHash(terminal: Terminal, client: RestClient, text: string): Promise<string> {
  if (HASH.test(text)) return text
  const { rows } = await search(client, await textOf(terminal, text), 2)
  const [row] = rows
  if (row === undefined)
    throw failure('sim_not_found', 'no SIM matches: none with it was issued or imported here')
  if (rows.length > 1) throw usageError('several SIMs match; name one by its hash: svc sim find lists them')
  return String(row.imsi_sha256_12)
}

const CHECKS = [
  { title: 'CHECK', value: (row: Json) => row.name },
  { title: 'STATUS', value: (row: Json) => row.status },
  { title: 'DETAIL', value: (row: Json) => row.detail, fit: 'wrap' },
] as const

async function why(terminal: Terminal, text: string, options: ConnectionOptions): Promise<void> {
  const client = connect(terminal, options)
  const hash = await oneHash(terminal, client, text)
  const { body } = await client.get(`/v1/sims/${encodeURIComponent(hash)}/diagnosis`)
  const checks = Array.isArray(body.checks) ? body.checks.filter(isObject) : []
  if (options.json === true) terminal.out(jsonText(body))
  else {
    const { checks: _checks, ...verdict } = body
    terminal.out(`${fields(verdict)}\n`)
    terminal.out(table(checks, CHECKS, terminal.columns))
    const advice = checks.filter((row) => typeof row.advice === 'string')
    if (advice.length > 0) terminal.out('\nWhat to do:\n')
    for (const row of advice) terminal.out(`- ${printable(String(row.advice))}\n`)
  }
  if (checks.some((row) => row.status === 'failed')) terminal.answer(1)
}

async function label(
  terminal: Terminal,
  hash: string,
  text: string | undefined,
  options: ConnectionOptions & { readonly none?: boolean },
): Promise<void> {
  if ((text === undefined) !== (options.none === true)) throw usageError('give either a label or --none')
  const path = `${simPath(hash)}/label`
  const { body } = await connect(terminal, options).change('POST', path, { label: text ?? null })
  printRecord(terminal, options.json === true, body)
}

interface IssueOptions extends ConnectionOptions, NewSimOptions {
  readonly expiresIn?: string
  readonly expiresAt?: string
}
interface FilterOptions extends ListOptions {
  readonly state?: string
  readonly profile?: string
  readonly label?: string
  readonly batch?: string
  readonly hash?: string
  readonly attached?: boolean
  readonly notAttached?: boolean
}
interface MoveOptions extends ConnectionOptions {
  readonly reason?: string
  readonly override?: boolean
  readonly wait?: string
}
type ExportOptions = PlaceOptions & { readonly format: 'csv' | 'pysim' | 'json' }

/** `svc sim issue|list|find|show|why|label|quota|suspend|resume|revoke|forget|import|export` */
export function addSimCommands(program: Command, terminal: Terminal): void {
  const sim = program.command('sim').description('subscribers and their SIM cards')
  addIssue(sim, terminal)
  addReads(sim, terminal)
  addMoves(sim, terminal)
  fairUse.addSimCommands?.(sim, terminal)
  compliance.addSimCommands?.(sim, terminal)
  addFindCommands(sim, terminal)
  addImportCommand(sim, terminal)
  placeOptions(
    localCommand(
      sim,
      'export <batch>',
      'unseal the cards of a batch or an import to standard output, on the node itself',
    ),
  )
    .addOption(new Option('--format <format>', 'for whom').choices(['csv', 'pysim', 'json']).default('csv'))
    .action(async (batch: string, options: ExportOptions) => {
      const { exportBatch } = await import('../offline/export-batch.ts')
      await exportBatch(terminal, batch, options)
    })
}

function addIssue(sim: Command, terminal: Terminal): void {
  newSimOptions(restCommand(sim, 'issue', 'make SIMs with new keys'))
    .option('--expires-in <duration>', 'such as 30d; 1y when absent')
    .option('--expires-at <time>', 'or this moment, such as 2027-01-31T00:00:00Z')
    .action((options: IssueOptions) => issue(terminal, options))
}

function addReads(sim: Command, terminal: Terminal): void {
  restCommand(sim, 'list', 'SIMs, newest first')
    .addOption(limitOption())
    .addOption(new Option('--state <state>', 'in this state').choices(SIM_STATES))
    .option('--attached', 'whose phone is on the network now')
    .option('--not-attached', 'whose phone is not')
    .option('--profile <name>', 'of this profile')
    .option('--label <text>', 'with exactly this label; svc sim find finds words of it')
    .option('--batch <id>', 'of this batch')
    .option('--hash <start>', 'whose hash begins so')
    .action((options: FilterOptions) => list(terminal, options))
  restCommand(sim, 'show <hash>', 'one SIM').action(async (hash: string, options: ConnectionOptions) => {
    const { body } = await connect(terminal, options).get(simPath(hash))
    printRecord(terminal, options.json === true, body)
  })
}

function addMoves(sim: Command, terminal: Terminal): void {
  const wait = (command: Command): Command =>
    command.option('--wait <duration>', 'until its phone is really off, such as 5s')
  const reason = (command: Command): Command => command.option('--reason <text>', 'for the audit trail')
  reason(wait(restCommand(sim, 'suspend <hash>', 'block a SIM and disconnect its phone'))).action(
    (hash: string, options: MoveOptions) => move(terminal, hash, 'suspend', options),
  )
  reason(restCommand(sim, 'resume <hash>', 'lift a suspension'))
    .option('--override', 'although the quota is used up')
    .option('--wait <duration>', 'until the HSS lets its phone on again, such as 5s')
    .action((hash: string, options: MoveOptions) => move(terminal, hash, 'resume', options))
  reason(wait(restCommand(sim, 'revoke <hash>', 'end a SIM for good'))).action(
    (hash: string, options: MoveOptions) => move(terminal, hash, 'revoke', options),
  )
}

async function issue(terminal: Terminal, options: IssueOptions): Promise<void> {
  // JSON leaves out what is undefined.
  const { body } = await connect(terminal, options).change('POST', '/v1/sims', {
    ...newSimBody(options),
    expires_in: options.expiresIn,
    expires_at: options.expiresAt,
  })
  if (options.json === true) terminal.out(jsonText(body))
  else {
    const { sims, first: _first, ...rest } = body
    terminal.out(`${fields(rest)}\n`)
    terminal.out(table(objectsOf(sims), SIM_COLUMNS, terminal.columns))
  }
  terminal.err(`On the node, svc sim export ${String(body.batch_id)} gives the cards to a card writer.\n`)
}

async function list(terminal: Terminal, options: FilterOptions): Promise<void> {
  if (options.attached === true && options.notAttached === true)
    throw usageError('--attached and --not-attached are of no SIM both')
  const sims = await connect(terminal, options).list('/v1/sims', 'sims', options.limit, {
    state: options.state,
    profile: options.profile,
    label: options.label,
    batch_id: options.batch,
    q: options.hash,
    attached: options.attached === true ? 'true' : options.notAttached === true ? 'false' : undefined,
  })
  printList(terminal, options.json === true, sims, SIM_COLUMNS)
}

async function move(
  terminal: Terminal,
  hash: string,
  verb: 'suspend' | 'resume' | 'revoke',
  options: MoveOptions,
): Promise<void> {
  const query = options.wait === undefined ? '' : `?wait=${encodeURIComponent(options.wait)}`
  const path = `${simPath(hash)}/${verb}${query}`
  const body = { reason: options.reason, override: options.override }
  const answer = await connect(terminal, options).change('POST', path, body)
  printRecord(terminal, options.json === true, answer.body)
}
