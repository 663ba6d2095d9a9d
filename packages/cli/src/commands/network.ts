import { setTimeout as delay } from 'node:timers/promises'
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { ConnectionOptions } from '../client/credentials.ts'
import { connect, objectsOf } from '../client/rest-client.ts'
import { CommandError, failure, usageError } from '../command-error.ts'
import { jsonText, printList, printRecord } from '../output/print.ts'
import { fields, moment, table } from '../output/table.ts'
import type { Terminal } from '../terminal.ts'
import {
  gathered,
  type ListOptions,
  limitOption,
  positiveInteger,
  positiveNumber,
  restCommand,
} from './options.ts'

/** What `--wait` gave. */
interface WaitOptions {
  /** Seconds; undefined: no second try. */
  readonly wait?: number
}

/** Longer than a start takes that upgrades a large store. */
const USUAL_S = '60'
const PAUSE_MS = 250
/** What passes by itself while a service starts, or is upgraded behind a proxy. */
const PASSING = new Set(['unreachable', 'not_ready', 'bad_answer', 'store_unavailable', 'rate_limited'])

/** `--wait [SECONDS]`. */
function waitable(command: Command, until: string): Command {
  return command.option(
    '--wait [seconds]',
    `try again until ${until}, at most so long (${USUAL_S} s when no number is given)`,
    secondsFrom,
  )
}

/** What commander hands on: true when `--wait` stands alone. */
function waitFrom({ wait }: { readonly wait?: number | true }): WaitOptions {
  if (wait === undefined) return {}
  return { wait: wait === true ? Number(USUAL_S) : wait }
}

function secondsFrom(text: string): number {
  const [, number, unit] = /^(\d{1,6}(?:\.\d{1,3})?)(s|m)?$/.exec(text) ?? []
  const seconds = Number(number) * (unit === 'm' ? 60 : 1)
  if (!(seconds > 0)) throw new InvalidArgumentError('It is a number of seconds above 0, such as 30.')
  return seconds
}

/**
 * Asks until what was answered is enough or the time is over, and gives the last answer. Without `wait` it asks once.
 *
 * Throws what asking throws: at once what no waiting mends (a wrong token), the rest when the time is over.
 */
async function patiently<T>(
  { wait }: WaitOptions,
  ask: () => Promise<T>,
  isEnough: (answer: T) => boolean = () => true,
): Promise<T> {
  const endMs = performance.now() + (wait ?? 0) * 1000
  for (;;) {
    const leftMs = (): number => endMs - performance.now()
    try {
      const answer = await ask()
      if (isEnough(answer) || leftMs() <= 0) return answer
    } catch (error) {
      if (wait === undefined || !(error instanceof CommandError) || !PASSING.has(error.code)) throw error
      if (leftMs() <= 0) throw failure(error.code, `${error.message}; waited for ${wait} s`, { ...error })
    }
    await delay(Math.max(0, Math.min(PAUSE_MS, leftMs())))
  }
}

/** With what `--wait` gave. */
type StatusOptions = ConnectionOptions & { readonly wait?: number | true }

interface SpectrumOptions extends ConnectionOptions {
  readonly technology?: string
  readonly channel?: readonly number[]
  readonly frequency?: readonly number[]
  readonly band?: string
  readonly bandwidth?: number
  readonly country?: string
}

/** `svc status`, `health`, `nodes list`, `lifecycle move`, `spectrum check` */
export function addNetworkCommands(program: Command, terminal: Terminal): void {
  waitable(restCommand(program, 'status', 'node, core and radio in short'), 'the service answers').action(
    (options: StatusOptions) => status(terminal, options),
  )
  waitable(
    restCommand(
      program,
      'health',
      'every component; exit code 1 when the service is down, with --wait not ok',
    ),
    'every component is ok',
  ).action((options: StatusOptions) => health(terminal, options))
  restCommand(program.command('nodes').description('the node registry'), 'list', 'nodes and their states')
    .addOption(limitOption())
    .action((options: ListOptions) => nodes(terminal, options))
  restCommand(
    program.command('lifecycle').description("the node's lifecycle"),
    'move <from> <to>',
    'provision, register, on-air, peer, breakout',
  )
    .option('--force', 'skip the mesh prerequisites (never the TX gate)')
    .action((from: string, to: string, options: ConnectionOptions & { readonly force?: boolean }) =>
      move(terminal, from, to, options),
    )
  addSpectrum(program, terminal)
}

function addSpectrum(program: Command, terminal: Terminal): void {
  const spectrum = program.command('spectrum').description('what may be emitted')
  restCommand(spectrum, 'check', 'ask the three layers about channels; exit code 1 when one says no')
    .addOption(
      new Option('--technology <technology>', 'lte or nr; taken from band or channel when absent').choices([
        'lte',
        'nr',
      ]),
    )
    .addOption(
      new Option('--channel <number>', 'EARFCN or NR-ARFCN, may be given several times').argParser(channels),
    )
    .addOption(
      new Option('--frequency <mhz>', 'centre of the downlink in MHz, may be given several times').argParser(
        frequencies,
      ),
    )
    .option('--band <band>', 'such as b3 or n78')
    .option('--bandwidth <mhz>', 'of the carrier, MHz', positiveNumber)
    .option('--country <code>', "ISO 3166-1 alpha-2; the node's when absent")
    .action((options: SpectrumOptions) => check(terminal, options))
}

function channels(text: string, before: readonly number[] = []): readonly number[] {
  const parsed = gathered(text).map((word) => (word === '0' ? 0 : positiveInteger(word)))
  return [...before, ...parsed]
}

function frequencies(text: string, before: readonly number[] = []): readonly number[] {
  return [...before, ...gathered(text).map(positiveNumber)]
}

async function status(terminal: Terminal, options: StatusOptions): Promise<void> {
  const client = connect(terminal, options)
  const { body } = await patiently(waitFrom(options), () => client.get('/v1/status'))
  // People read the components with `svc health`.
  const { components: _components, ...short } = body
  printRecord(terminal, options.json === true, options.json === true ? body : short)
}

async function health(terminal: Terminal, options: StatusOptions): Promise<void> {
  const client = connect(terminal, options)
  const { body } = await patiently(
    waitFrom(options),
    () => client.get('/v1/health'),
    (answer) => answer.body.status === 'ok',
  )
  if (options.json === true) terminal.out(jsonText(body))
  else {
    terminal.out(`${fields({ status: body.status })}\n`)
    terminal.out(
      table(
        objectsOf(body.components),
        [
          { title: 'COMPONENT', value: (row) => row.name },
          { title: 'KIND', value: (row) => row.kind },
          { title: 'STATUS', value: (row) => row.status },
          { title: 'SINCE', value: (row) => moment(row.since), fit: 'whole' },
          { title: 'DETAIL', value: (row) => row.detail, fit: 'wrap' },
        ],
        terminal.columns,
      ),
    )
  }
  const isWell = options.wait === undefined ? body.status !== 'down' : body.status === 'ok'
  if (!isWell) terminal.answer(1)
}

async function nodes(terminal: Terminal, options: ListOptions): Promise<void> {
  const list = await connect(terminal, options).list('/v1/nodes', 'nodes', options.limit)
  printList(terminal, options.json === true, list, [
    { title: 'NODE', value: (row) => row.node_id },
    { title: 'NAME', value: (row) => row.name },
    { title: 'STATE', value: (row) => row.state },
    { title: 'PLMN', value: (row) => row.plmn },
    { title: 'VERSION', value: (row) => row.version },
    { title: 'LAST SEEN', value: (row) => moment(row.last_seen) },
  ])
}

async function move(
  terminal: Terminal,
  from: string,
  to: string,
  options: ConnectionOptions & { readonly force?: boolean },
): Promise<void> {
  const body = { from, to, force: options.force === true }
  const answer = await connect(terminal, options).change('POST', '/v1/lifecycle/transition', body)
  printRecord(terminal, options.json === true, answer.body)
}

async function check(terminal: Terminal, options: SpectrumOptions): Promise<void> {
  if (options.channel === undefined && options.frequency === undefined)
    throw usageError('say what to check: --channel or --frequency')
  const { body } = await connect(terminal, options).change('POST', '/v1/spectrum/check', {
    ...(options.technology === undefined ? {} : { technology: options.technology }),
    ...(options.channel === undefined ? {} : { channels: options.channel }),
    ...(options.frequency === undefined ? {} : { frequency_mhz: options.frequency }),
    ...(options.band === undefined ? {} : { band: options.band }),
    ...(options.bandwidth === undefined ? {} : { bandwidth_mhz: options.bandwidth }),
    ...(options.country === undefined ? {} : { country: options.country }),
  })
  if (options.json === true) terminal.out(jsonText(body))
  else {
    const { results, ...verdict } = body
    terminal.out(`${fields(verdict)}\n`)
    terminal.out(
      table(
        objectsOf(results),
        [
          { title: 'CHANNEL', value: (row) => row.channel },
          { title: 'BANDS', value: (row) => row.bands },
          { title: 'DOWNLINK MHZ', value: (row) => row.downlink_mhz },
          { title: 'UPLINK MHZ', value: (row) => row.uplink_mhz },
          { title: 'ALLOWED', value: (row) => row.allowed },
          { title: 'REASON', value: (row) => row.reason, fit: 'wrap' },
        ],
        terminal.columns,
      ),
    )
  }
  if (body.allowed !== true) terminal.answer(1)
}
