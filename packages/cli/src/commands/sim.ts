import { basename, resolve } from 'node:path'
import type { AnswerOf, ItemOf, RequestOf } from '@steeple/client'
import type { ApiCommand } from '@steeple/contracts'
import { type Command, Option } from 'commander'
import type { ConnectionOptions } from '../client/credentials.ts'
import { connect, type Json, type List, type Service } from '../client/service.ts'
import { failure, fileOf, usageError } from '../command-error.ts'
import { agreed } from '../output/ask-lines.ts'
import { jsonText, printList, printWithTable } from '../output/print.ts'
import { withProgress } from '../output/progress.ts'
import { fields, printable, table } from '../output/table.ts'
import type { PlaceOptions } from '../place.ts'
import type { Terminal } from '../terminal.ts'
import type { CommandEntry } from './api-commands.ts'
import {
  gathered,
  type ListOptions,
  limitOption,
  localCommand,
  placeOptions,
  positiveInteger,
  restCommand,
} from './options.ts'
import { addAdoptCommand, addForeignCommand } from './sim-adopt.ts'
import { SIM_ARGUMENT, SIM_COLUMNS, SIM_STATES, simHash } from './sim-columns.ts'

interface IssueOptions extends ConnectionOptions, NewSimOptions {
  readonly expiresIn?: string
  readonly expiresAt?: string
}
type ExportOptions = PlaceOptions & { readonly format: 'csv' | 'pysim' | 'json' }

const REASON = { '--reason <text>': 'reason for the audit trail' }
const WAIT = {
  '--wait [duration]': {
    summary: 'wait until the core has it and the phone is off, at most 30s (default: 10s)',
    to: 'query.wait',
    value: '10s',
  },
}
const OUTCOME: ApiCommand['note'] = [
  {
    when: { 'provisioning.status': 'synced', detached: 'pending' },
    says: 'asked: the core has it, and the phone is not off yet',
  },
  { when: { 'provisioning.status': 'synced' }, says: 'done: the core has it' },
  {
    when: { 'provisioning.status': 'failed' },
    says: 'asked, but the core refuses it; svc sim why shows the reason',
  },
  {
    when: { 'provisioning.last_error': null },
    says: 'asked: the core has not confirmed it yet; --wait waits for it',
  },
  { says: 'asked: the core cannot be reached; it will be done when it is back' },
]

/** `svc sim issue|list|show|suspend|resume|revoke|quota|forget|find|why|label|subscription|import|foreign|adopt|export` */
export const SIM_COMMANDS: readonly CommandEntry[] = [
  { group: 'sim', summary: 'subscribers and their SIM cards' },
  (program, terminal) =>
    newSimOptions(restCommand(program, 'sim issue', 'issue SIMs with new keys'))
      .option('--expires-in <duration>', 'such as 30d (default: 1y)')
      .option('--expires-at <time>', 'or the time at which they expire, such as 2027-01-31T00:00:00Z')
      .action((options: IssueOptions) => issue(terminal, options)),
  {
    usage: 'sim list',
    summary: 'list SIMs, newest first',
    operation: 'GET /v1/sims',
    options: {
      '--state <state>': { summary: 'only those in this state', choices: SIM_STATES },
      '--attached': 'only those with a phone on the network now',
      '--not-attached': {
        summary: 'only those without a phone on the network',
        to: 'query.attached',
        value: false,
      },
      '--profile <name>': 'only of this profile',
      '--label <text>': 'only with exactly this label (svc sim find finds words)',
      '--batch <id>': { summary: 'only of this batch', to: 'query.batch_id' },
      '--hash <start>': { summary: 'only those with a hash that begins so', to: 'query.q' },
    },
    list: { key: 'sims', columns: SIM_COLUMNS },
  },
  {
    usage: 'sim show <hash>',
    summary: 'show a SIM',
    operation: 'GET /v1/sims/{imsi}',
    arguments: { hash: SIM_ARGUMENT },
  },
  {
    usage: 'sim suspend <hash>',
    summary: 'block a SIM and disconnect its phone',
    operation: 'POST /v1/sims/{imsi}/suspend',
    arguments: { hash: SIM_ARGUMENT },
    options: { ...WAIT, ...REASON },
    note: OUTCOME,
  },
  {
    usage: 'sim resume <hash>',
    summary: 'lift a suspension',
    operation: 'POST /v1/sims/{imsi}/resume',
    arguments: { hash: SIM_ARGUMENT },
    options: {
      ...REASON,
      '--override': 'also when the quota is used up',
      ...WAIT,
    },
    note: OUTCOME,
  },
  {
    usage: 'sim revoke <hash>',
    summary: 'end a SIM for good',
    operation: 'POST /v1/sims/{imsi}/revoke',
    arguments: { hash: SIM_ARGUMENT },
    options: { ...WAIT, ...REASON },
    note: OUTCOME,
  },
  (program, terminal) =>
    restCommand(
      program,
      'sim find <text...>',
      'find SIMs by words of the label, the last digits of ICCID or number, or a whole IMSI, ICCID or number',
    )
      .addOption(limitOption())
      .addHelpText(
        'after',
        '\nWhat is typed here stands in the list of processes and in the history of the shell. With - the text is read from\n' +
          'standard input, which is the way for whole IMSIs and ICCIDs.',
      )
      .action((words: readonly string[], options: ListOptions) => find(terminal, words.join(' '), options)),
  (program, terminal) =>
    restCommand(program, 'sim why <sim>', 'show why its phone is not on the network, and what to do').action(
      (text: string, options: ConnectionOptions) => why(terminal, text, options),
    ),
  {
    usage: 'sim label <hash> [text]',
    summary: 'give a SIM a label to find it again; --none removes it',
    operation: 'POST /v1/sims/{imsi}/label',
    arguments: { hash: SIM_ARGUMENT, text: { to: 'body.label' } },
    options: { '--none': { summary: 'remove the label', to: 'body.label', value: null } },
    exactlyOne: 'give either a label or --none',
  },
  {
    usage: 'sim subscription <hash>',
    summary: 'change the APNs and the speed of a SIM; what is not given stays',
    operation: 'POST /v1/sims/{imsi}/subscription',
    arguments: { hash: SIM_ARGUMENT },
    options: {
      '--apn <apn>': {
        summary: 'an APN of the policy that it has from now on, may be given several times',
        to: 'body.apns',
        takes: 'list',
      },
      '--downlink-bps <rate>': { summary: 'highest downlink rate, bit/s', takes: 'count' },
      '--uplink-bps <rate>': { summary: 'highest uplink rate, bit/s', takes: 'count' },
    },
    note: {
      says: 'asked: no phone is disconnected; it gets other APNs when it registers next, another speed with its next session',
    },
  },
  addImportCommand,
  addForeignCommand,
  addAdoptCommand,
  (program, terminal) =>
    placeOptions(
      localCommand(
        program,
        'sim export <batch>',
        'write the cards of a batch or an import, with their keys, to standard output, on the node itself',
      ),
    )
      .addOption(
        new Option('--format <format>', 'format of the cards')
          .choices(['csv', 'pysim', 'json'])
          .default('csv'),
      )
      .action(async (batch: string, options: ExportOptions) => {
        const { exportBatch } = await import('../offline/commands.ts')
        await exportBatch(terminal, batch, options)
      }),
]

async function issue(terminal: Terminal, options: IssueOptions): Promise<void> {
  const { data } = await connect(terminal, options).post('/v1/sims', {
    body: { ...newSimBody(options), expires_in: options.expiresIn, expires_at: options.expiresAt },
  })
  const { sims: rows, first: _first, ...rest } = data
  printWithTable<Json>(terminal, options, data, { rest, rows }, SIM_COLUMNS)
  if (rows.some(({ provisioning }) => provisioning.driver === 'none'))
    terminal.err(
      'The core does not have them: the service writes no subscribers into it now. It will once it drives the core.\n',
    )
  terminal.err(`On the node, svc sim export ${data.batch_id} gives the cards to a card writer.\n`)
}

/** Digits of a whole IMSI or ICCID: TS 23.003 §2.2, ITU-T E.118. */
const WHOLE = /^\+?[0-9]{14,20}$/
const IMSI_DIGITS = 15

async function find(terminal: Terminal, text: string, options: ListOptions): Promise<void> {
  const found = await search(connect(terminal, options), await textOf(terminal, text), options.limit)
  if (found.rows.length === 0 && options.json !== true) terminal.err('No SIM matches.\n')
  if (found.rows.length > 0 || options.json === true) printList<Json>(terminal, options, found, SIM_COLUMNS)
  if (found.rows.length === 0) terminal.answer(1)
}

/** Whole identifiers travel in a body: an address is written to logs. */
async function search(service: Service, text: string, limit: number): Promise<List<ItemOf<'/v1/sims'>>> {
  if (!WHOLE.test(text)) return await service.list('/v1/sims', 'sims', limit, { query: { q: text } })
  const digits = text.replace('+', '')
  const bodies: Record<string, string>[] = []
  if (digits.length <= IMSI_DIGITS) bodies.push({ imsi: digits }, { msisdn: digits })
  if (digits.length >= 18) bodies.push({ iccid: digits })
  const rows: ItemOf<'/v1/sims'>[] = []
  for (const body of bodies) rows.push(...(await service.post('/v1/sims/find', { body })).data.sims)
  return { key: 'sims', rows, nextCursor: null }
}

async function textOf(terminal: Terminal, text: string): Promise<string> {
  const read = (text === '-' ? await terminal.input() : text).trim()
  if (read === '') throw usageError('there is nothing to search for')
  return read
}

/** The hash of the one SIM that a text names; a hash is taken as it is. */
async function oneHash(terminal: Terminal, service: Service, text: string): Promise<string> {
  if (new RegExp(SIM_ARGUMENT.pattern).test(text)) return text
  const { rows } = await search(service, await textOf(terminal, text), 2)
  const [row] = rows
  if (row === undefined)
    throw failure('sim_not_found', 'no SIM matches: none with it was issued or imported here')
  if (rows.length > 1) throw usageError('several SIMs match; name one by its hash: svc sim find lists them')
  return row.imsi_sha256_12
}

async function why(terminal: Terminal, text: string, options: ConnectionOptions): Promise<void> {
  const service = connect(terminal, options)
  const imsi = await oneHash(terminal, service, text)
  const { data } = await service.get('/v1/sims/{imsi}/diagnosis', { path: { imsi } })
  const { checks: rows, ...rest } = data
  printWithTable(terminal, options, data, { rest, rows }, [
    { title: 'CHECK', value: 'name' },
    'status',
    { value: 'detail', fit: 'wrap' },
  ])
  const advice = rows.flatMap((row) => row.advice ?? [])
  if (advice.length > 0 && options.json !== true)
    terminal.out(`\nWhat to do:\n${advice.map((one) => `- ${printable(one)}\n`).join('')}`)
  if (rows.some((row) => row.status === 'failed')) terminal.answer(1)
}

interface ImportOptions extends ConnectionOptions {
  readonly dryRun?: boolean
  readonly atomic?: boolean
  readonly label?: string
  readonly yes?: boolean
}

/** Changes that a dry run shows. */
const MOST_CHANGES = 50

/** What the service says of an import. */
type Report = AnswerOf<'POST', '/v1/sims/import'>

/** What is imported: its octets as they are, which the service reads, and what people call it. */
interface Source {
  readonly octets: Uint8Array<ArrayBuffer>
  readonly name: string
}

/** `svc sim import` */
function addImportCommand(program: Command, terminal: Terminal): void {
  restCommand(
    program,
    'sim import <file>',
    'import existing cards from a CSV or JSON file; - reads standard input',
  )
    .option('--dry-run', 'report what would be done and change nothing')
    .option('--atomic', 'all rows or none')
    .option('--yes', 'show the first rows and do not ask')
    .option('--label <text>', 'label for every row that has none')
    .action((file: string, options: ImportOptions) => importFile(terminal, file, options))
}

async function importFile(terminal: Terminal, file: string, options: ImportOptions): Promise<void> {
  const source = await sourceOf(terminal, file)
  if (source.octets.every((octet) => octet <= 0x20))
    throw failure('file_empty', `there is nothing in ${source.name}`)
  const service = connect(terminal, options)
  const { atomic, label } = options
  const send = async (isDry: boolean): Promise<Report> => {
    const query = { atomic, label, dry_run: isDry ? true : undefined }
    const body = { type: 'text/csv', content: source.octets } as const
    return (await service.post('/v1/sims/import', { query, body })).data
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

async function isWanted(terminal: Terminal, source: Source, dry: Report): Promise<boolean> {
  terminal.out(understood(terminal, dry))
  report(terminal, dry, { source, isDry: true })
  const rows = dry.imported + dry.updated
  if (rows === 0) return false
  return await agreed(terminal, `Import ${rows} ${rows === 1 ? 'SIM' : 'SIMs'}?`)
}

/** The first rows as they are understood, and the columns that are not read. */
function understood(terminal: Terminal, { columns = [], first_rows: first = [] }: Report): string {
  const unread = columns.flatMap(({ name, read_as: column }) =>
    column === null && name !== '' ? [name] : [],
  )
  const left = unread.length === 0 ? '' : `Columns that are not read: ${unread.join(', ')}\n\n`
  if (first.length === 0) return left
  const shown = [
    'row',
    { title: 'SIM', value: 'imsi_sha256_12', fit: 'whole' },
    { title: 'ICCID', value: '…{iccid_last4}' },
    { title: 'NUMBER', value: 'msisdn' },
    'profile',
    'apns',
    'label',
  ] as const
  return `The first rows are read as:\n${table(first, shown, terminal.columns)}\n${left}`
}

async function sourceOf(terminal: Terminal, file: string): Promise<Source> {
  if (file === '-') return { octets: Uint8Array.from(await terminal.octets()), name: 'standard input' }
  return { octets: await fileOf(resolve(terminal.cwd, file)), name: basename(file) }
}

interface Told {
  readonly source: Source
  readonly isDry: boolean
}

function report(terminal: Terminal, body: Report, { source, isDry }: Told): void {
  const { results: rows, columns: _columns, first_rows: _rows, ...totals } = body
  if (isDry) {
    const { imported, updated, ...rest } = totals
    const would = { 'would import': imported, 'would update': updated, ...rest }
    terminal.out(`${fields(would)}Nothing was changed: this was a dry run.\n`)
  } else terminal.out(fields(totals))
  const where = ({ line, row }: Result): string => `${source.name}:${line === null ? ` row ${row}` : line}`
  if (isDry) showOverwritten(terminal, rows, where)
  showKept(terminal, rows, where)
  const faults = rows.filter((row) => row.status === 'error')
  if (faults.length === 0) return
  const columns = [
    { title: 'WHERE', value: where, fit: 'whole' },
    { title: 'SIM', value: 'imsi_sha256_12', fit: 'whole' },
    // Some errors begin with the line, which is said already.
    { title: 'ERROR', value: ({ error }: Result) => error?.replace(/^line \d+: /, ''), fit: 'wrap' },
  ] as const
  terminal.out(`\n${table(faults, columns, terminal.columns)}`)
}

type Result = Report['results'][number]

/** What rows have otherwise than the SIMs that are there, which stay as they are. */
function showKept(terminal: Terminal, rows: readonly Result[], where: (row: Result) => string): void {
  const kept = rows.filter((row) => row.kept !== undefined)
  if (kept.length === 0) return
  const columns = [
    { value: where, title: 'WHERE', fit: 'whole' },
    { title: 'SIM', value: 'imsi_sha256_12', fit: 'whole' },
    { title: 'NOT TAKEN OVER', value: 'kept', fit: 'wrap' },
  ] as const
  const more = kept.length > MOST_CHANGES ? `and ${kept.length - MOST_CHANGES} more; --json shows all\n` : ''
  terminal.out(
    `\nThese SIMs are there and stay as they are; svc sim subscription changes APNs and speed:\n` +
      `${table(kept.slice(0, MOST_CHANGES), columns, terminal.columns)}${more}`,
  )
}

/** What the HSS has already and would have otherwise afterwards; the first rows, since all may be there. */
function showOverwritten(terminal: Terminal, rows: readonly Result[], where: (row: Result) => string): void {
  const changes = rows.flatMap((row) =>
    (row.overwrites ?? []).map((change) => ({ ...change, where: where(row) })),
  )
  if (changes.length === 0) return
  const shown = changes.slice(0, MOST_CHANGES)
  const columns = [
    { value: 'where', fit: 'whole' },
    { title: 'IN THE HSS', value: 'field', fit: 'whole' },
    { title: 'NOW', value: 'before', fit: 'wrap' },
    { title: 'AFTERWARDS', value: 'after', fit: 'wrap' },
  ] as const
  const more = changes.length - shown.length
  const rest = more === 0 ? '' : `and ${more} more changes; --json shows all\n`
  terminal.out(
    `\nSubscribers that the HSS has already would change:\n${table(shown, columns, terminal.columns)}${rest}`,
  )
}

/** What can be said of new SIMs. */
interface NewSimOptions {
  readonly count?: number
  readonly profile?: string
  readonly apn?: readonly string[]
  readonly msinStart?: string
  readonly imsi?: string
  readonly msisdn?: string
  readonly quotaBytes?: number
  readonly downlinkBps?: number
  readonly uplinkBps?: number
  readonly label?: string
  readonly replaces?: string
  readonly reach?: string
  readonly box?: readonly string[]
}

/** The options of `svc sim issue` and `svc esim issue` that are of new SIMs, but for how long they live. */
function newSimOptions(command: Command): Command {
  return command
    .option('--count <sims>', 'number of new SIMs, 1 to 1000 (default: 1)', positiveInteger)
    .option('--profile <name>', 'profile of new SIMs (default: "default")')
    .option('--apn <apn>', 'an APN of the policy, may be given several times (default: all)', gathered)
    .option('--msin-start <digits>', 'first subscriber number (default: random)')
    .option('--imsi <digits>', 'exactly this IMSI; other users see it in the process list')
    .option('--msisdn <digits>', 'telephone number without a plus')
    .option('--quota-bytes <bytes>', 'data quota', positiveInteger)
    .option(
      '--downlink-bps <rate>',
      'highest downlink rate of a new SIM, bit/s; needs --uplink-bps',
      positiveInteger,
    )
    .option(
      '--uplink-bps <rate>',
      'highest uplink rate of a new SIM, bit/s; needs --downlink-bps',
      positiveInteger,
    )
    .option('--label <text>', 'label to find them again; several SIMs are numbered behind it: village 01')
    .option('--replaces <hash>', 'SIM swap: revoke this SIM and replace it')
    .addOption(
      new Option('--reach <reach>', 'where they work in a mesh (default: as configured)').choices([
        'home',
        'mesh',
        'boxes',
        'on_demand',
      ]),
    )
    .option('--box <node>', 'id of a box where they work, may be given several times', gathered)
}

type NewSims = NonNullable<RequestOf<'POST', '/v1/sims'>['body']>

/** Their part of a body; JSON leaves out what is undefined. */
function newSimBody(options: NewSimOptions): NewSims {
  const { count, profile, apn, msinStart, imsi, msisdn, quotaBytes, label, replaces, box } = options
  const { downlinkBps, uplinkBps } = options
  return {
    count,
    profile,
    apns: apn,
    msin_start: msinStart,
    imsi,
    msisdn,
    quota_bytes: quotaBytes,
    // Of one alone the service says which is missing.
    ambr:
      downlinkBps === undefined && uplinkBps === undefined
        ? undefined
        : ({ downlink_bps: downlinkBps, uplink_bps: uplinkBps } as NewSims['ambr']),
    label,
    replaces: replaces === undefined ? undefined : simHash(replaces),
    // One of the choices of the option.
    reach: (box === undefined ? options.reach : (options.reach ?? 'boxes')) as NewSims['reach'],
    boxes: box,
  }
}
