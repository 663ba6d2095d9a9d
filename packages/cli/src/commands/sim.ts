import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { type Command, Option } from 'commander'
import type { ConnectionOptions } from '../client/credentials.ts'
import { connect, isObject, type Json } from '../client/rest-client.ts'
import { failure } from '../command-error.ts'
import { jsonText, printList, printRecord } from '../output/print.ts'
import { fields, table } from '../output/table.ts'
import type { PlaceOptions } from '../place.ts'
import type { Terminal } from '../terminal.ts'
import {
  gathered,
  type ListOptions,
  limitOption,
  localCommand,
  placeOptions,
  positiveInteger,
  restCommand,
} from './options.ts'

interface IssueOptions extends ConnectionOptions {
  readonly count?: number
  readonly profile?: string
  readonly apn?: readonly string[]
  readonly expiresIn?: string
  readonly msinStart?: string
  readonly imsi?: string
  readonly msisdn?: string
  readonly quotaBytes?: number
  readonly label?: string
  readonly replaces?: string
}
interface FilterOptions extends ListOptions {
  readonly state?: string
  readonly profile?: string
  readonly label?: string
  readonly batch?: string
  readonly hash?: string
}
interface MoveOptions extends ConnectionOptions {
  readonly reason?: string
  readonly override?: boolean
  readonly wait?: string
}
interface ImportOptions extends ConnectionOptions {
  readonly dryRun?: boolean
  readonly atomic?: boolean
}
type ExportOptions = PlaceOptions & { readonly format: 'csv' | 'pysim' | 'json' }

/** `svc sim issue|list|show|suspend|resume|revoke|import|export` */
export function addSimCommands(program: Command, terminal: Terminal): void {
  const sim = program.command('sim').description('subscribers and their SIM cards')
  addIssue(sim, terminal)
  addReads(sim, terminal)
  addMoves(sim, terminal)
  restCommand(
    sim,
    'import <file>',
    'SIMs whose cards exist already: CSV, or JSON when the name ends in .json',
  )
    .option('--dry-run', 'report what would be done and change nothing')
    .option('--atomic', 'all rows or none')
    .action((file: string, options: ImportOptions) => importFile(terminal, file, options))
  placeOptions(
    localCommand(sim, 'export <batch>', 'unseal the cards of a batch to standard output, on the node itself'),
  )
    .addOption(new Option('--format <format>', 'for whom').choices(['csv', 'pysim', 'json']).default('csv'))
    .action(async (batch: string, options: ExportOptions) => {
      const { exportBatch } = await import('../offline/export-batch.ts')
      await exportBatch(terminal, batch, options)
    })
}

function addIssue(sim: Command, terminal: Terminal): void {
  restCommand(sim, 'issue', 'make SIMs with new keys')
    .option('--count <sims>', '1 to 1000; 1 when absent', positiveInteger)
    .option('--profile <name>', 'default when absent')
    .option('--apn <apn>', "one of the policy's, may be given several times; all when absent", gathered)
    .option('--expires-in <duration>', 'such as 30d; 1y when absent')
    .option('--msin-start <digits>', 'first subscriber number; drawn at random when absent')
    .option('--imsi <digits>', 'this very IMSI; other users see it in the process list')
    .option('--msisdn <digits>', 'telephone number without a plus')
    .option('--quota-bytes <bytes>', 'data allowance', positiveInteger)
    .option('--label <text>', 'to find them again')
    .option('--replaces <hash>', 'SIM swap: revoke this one and take its place')
    .action((options: IssueOptions) => issue(terminal, options))
}

function addReads(sim: Command, terminal: Terminal): void {
  restCommand(sim, 'list', 'SIMs, newest first')
    .addOption(limitOption())
    .option('--state <state>', 'issued, in-use, suspended, expired or revoked')
    .option('--profile <name>', 'of this profile')
    .option('--label <text>', 'with this label')
    .option('--batch <id>', 'of this batch')
    .option('--hash <start>', 'whose hash begins so')
    .action((options: FilterOptions) => list(terminal, options))
  restCommand(sim, 'show <hash>', 'one SIM').action(async (hash: string, options: ConnectionOptions) => {
    const { body } = await connect(terminal, options).get(`/v1/sims/${encodeURIComponent(hash)}`)
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
  restCommand(sim, 'resume <hash>', 'lift a suspension')
    .option('--override', 'although the quota is used up')
    .action((hash: string, options: MoveOptions) => move(terminal, hash, 'resume', options))
  reason(wait(restCommand(sim, 'revoke <hash>', 'end a SIM for good'))).action(
    (hash: string, options: MoveOptions) => move(terminal, hash, 'revoke', options),
  )
}

async function issue(terminal: Terminal, options: IssueOptions): Promise<void> {
  const { count, profile, apn, expiresIn, msinStart, imsi, msisdn, quotaBytes, label, replaces } = options
  // JSON leaves out what is undefined.
  const { body } = await connect(terminal, options).change('POST', '/v1/sims', {
    count,
    profile,
    apns: apn,
    expires_in: expiresIn,
    msin_start: msinStart,
    imsi,
    msisdn,
    quota_bytes: quotaBytes,
    label,
    replaces,
  })
  if (options.json === true) terminal.out(jsonText(body))
  else {
    const { sims, first: _first, ...rest } = body
    terminal.out(`${fields(rest)}\n`)
    terminal.out(table(objects(sims), COLUMNS))
  }
  terminal.err(`On the node, svc sim export ${String(body.batch_id)} gives the cards to a card writer.\n`)
}

const COLUMNS = [
  { title: 'SIM', value: (row: Json) => row.imsi_sha256_12 },
  { title: 'STATE', value: (row: Json) => row.state },
  { title: 'PROFILE', value: (row: Json) => row.profile },
  { title: 'LABEL', value: (row: Json) => row.label },
  { title: 'EXPIRES', value: (row: Json) => row.expires_at },
  {
    title: 'PROVISIONING',
    value: (row: Json) => (isObject(row.provisioning) ? row.provisioning.status : undefined),
  },
]

async function list(terminal: Terminal, options: FilterOptions): Promise<void> {
  const sims = await connect(terminal, options).list('/v1/sims', 'sims', options.limit, {
    state: options.state,
    profile: options.profile,
    label: options.label,
    batch_id: options.batch,
    q: options.hash,
  })
  printList(terminal, options.json === true, sims, COLUMNS)
}

async function move(
  terminal: Terminal,
  hash: string,
  verb: 'suspend' | 'resume' | 'revoke',
  options: MoveOptions,
): Promise<void> {
  const query = options.wait === undefined ? '' : `?wait=${encodeURIComponent(options.wait)}`
  const path = `/v1/sims/${encodeURIComponent(hash)}/${verb}${query}`
  const body = { reason: options.reason, override: options.override }
  const answer = await connect(terminal, options).change('POST', path, body)
  printRecord(terminal, options.json === true, answer.body)
}

async function importFile(terminal: Terminal, file: string, options: ImportOptions): Promise<void> {
  const text = file === '-' ? await terminal.input() : await readText(resolve(terminal.cwd, file))
  const type = file.endsWith('.json') ? 'application/json' : 'text/csv'
  const query = new URLSearchParams({
    ...(options.dryRun === true ? { dry_run: 'true' } : {}),
    ...(options.atomic === true ? { atomic: 'true' } : {}),
  })
  const path = `/v1/sims/import${query.size === 0 ? '' : `?${query}`}`
  const { body } = await connect(terminal, options).change('POST', path, text, { 'content-type': type })
  if (options.json === true) terminal.out(jsonText(body))
  else {
    const { results, ...totals } = body
    terminal.out(fields(totals))
    const faults = objects(results).filter((row) => row.status === 'error')
    if (faults.length > 0) terminal.out(`\n${table(faults, FAULTS)}`)
  }
  if (body.failed !== 0) terminal.answer(1)
}

const FAULTS = [
  { title: 'ROW', value: (row: Json) => row.row },
  { title: 'SIM', value: (row: Json) => row.imsi_sha256_12 },
  { title: 'ERROR', value: (row: Json) => row.error },
]

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (cause) {
    throw failure('file_unreadable', `${path} cannot be read`, { cause })
  }
}

function objects(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}
