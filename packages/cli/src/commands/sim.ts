import { type Command, Option } from 'commander'
import type { ConnectionOptions } from '../client/credentials.ts'
import { connect, isObject, type Json } from '../client/rest-client.ts'
import { usageError } from '../command-error.ts'
import { jsonText, printList, printRecord } from '../output/print.ts'
import { fields, table } from '../output/table.ts'
import { part as compliance } from '../parts/compliance.ts'
import { part as fairUse } from '../parts/fair-use.ts'
import type { PlaceOptions } from '../place.ts'
import type { Terminal } from '../terminal.ts'
import { type NewSimOptions, newSimBody, newSimOptions } from './new-sims.ts'
import { type ListOptions, limitOption, localCommand, placeOptions, restCommand } from './options.ts'
import { SIM_COLUMNS, SIM_STATES, simPath } from './sim-columns.ts'
import { addFindCommands } from './sim-find.ts'
import { addImportCommand } from './sim-import.ts'

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
    terminal.out(table(objects(sims), SIM_COLUMNS, terminal.columns))
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

function objects(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}
