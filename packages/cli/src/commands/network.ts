import { setTimeout as delay } from 'node:timers/promises'
import type { AnswerOf } from '@steeple/client'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { baseUrl, type ConnectionOptions } from '../client/credentials.ts'
import { connect } from '../client/service.ts'
import { CommandError, failure, usageError } from '../command-error.ts'
import { type Incident, incidentText, printRecord, printWithTable } from '../output/print.ts'
import type { Terminal } from '../terminal.ts'
import type { CommandEntry } from './api-commands.ts'
import { gathered, positiveInteger, positiveNumber, restCommand } from './options.ts'

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
    `wait until ${until}, at most this long (default: ${USUAL_S} s)`,
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
  readonly technology?: 'lte' | 'nr'
  readonly channel?: readonly number[]
  readonly frequency?: readonly number[]
  readonly band?: string
  readonly bandwidth?: number
  readonly country?: string
}

/** `svc status`, `health`, `node list`, `lifecycle move`, `spectrum check` */
export const NETWORK_COMMANDS: readonly CommandEntry[] = [
  (program, terminal) => {
    waitable(
      restCommand(program, 'status', 'show node, core and radio in short'),
      'the service answers',
    ).action((options: StatusOptions) => status(terminal, options))
    waitable(
      restCommand(
        program,
        'health',
        'show every component; exit code 1 when the service is down, with --wait when one is not ok',
      ),
      'every component is ok',
    ).action((options: StatusOptions) => health(terminal, options))
  },
  {
    usage: 'node list',
    summary: 'list nodes and their states',
    operation: 'GET /v1/nodes',
    options: {
      '--state <state>': 'only those in this state, such as degraded',
      '--version <version>': 'only those with this version',
      '--name <text>': { summary: 'only those with this in their name', to: 'query.q' },
      '--sort <column>': 'such as name, phones or last_seen; with - in front: descending',
    },
    list: {
      key: 'nodes',
      columns: [
        { title: 'NODE', value: 'node_id' },
        ...['name', 'state', 'channel', 'phones', 'sims'],
        { title: 'OUTAGE', value: 'incidents.0.title' },
        ...['version', 'last_seen'],
      ],
    },
  },
  { group: 'lifecycle', summary: "the node's lifecycle" },
  {
    usage: 'lifecycle move <from> <to>',
    summary: 'move between provision, register, on-air, peer, breakout',
    operation: 'POST /v1/lifecycle/transition',
    options: { '--force': 'skip what other boxes have to do with (never the TX gate)' },
  },
  { group: 'spectrum', summary: 'what may be transmitted' },
  addSpectrumCheck,
]

function addSpectrumCheck(program: Command, terminal: Terminal): void {
  restCommand(
    program,
    'spectrum check',
    'check channels against the three layers; exit code 1 when one refuses',
  )
    .addOption(
      new Option('--technology <technology>', 'lte or nr (default: from band or channel)').choices([
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
    .option('--bandwidth <mhz>', 'bandwidth of the carrier, MHz', positiveNumber)
    .option('--country <code>', 'ISO 3166-1 alpha-2 (default: that of the node)')
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
  const service = connect(terminal, options)
  const { data } = await patiently(waitFrom(options), () => service.get('/v1/status'))
  // People read the components with `svc health`.
  const { components: _components, incidents, boxes, ...short } = data
  tellIncidents(terminal, options, incidents)
  printRecord(terminal, options, options.json === true ? data : { ...short, ...boxesText(boxes) })
}

async function health(terminal: Terminal, options: StatusOptions): Promise<void> {
  const service = connect(terminal, options)
  const { data } = await patiently(
    waitFrom(options),
    () => service.get('/v1/health'),
    (answer) => answer.data.status === 'ok',
  )
  const { components: rows, incidents, boxes, ...rest } = data
  tellIncidents(terminal, options, incidents)
  printWithTable(terminal, options, data, { rest: { ...rest, ...boxesText(boxes) }, rows }, [
    { title: 'COMPONENT', value: 'name' },
    'kind',
    'status',
    { value: 'since', fit: 'whole' },
    { value: 'detail', fit: 'wrap' },
  ])
  const isWell = options.wait === undefined ? data.status !== 'down' : data.status === 'ok'
  if (!isWell) terminal.answer(1)
}

type Boxes = AnswerOf<'GET', '/v1/health'>['boxes']

/** `287 of 300 are well, 4 are not, 9 do not answer`; nothing where there is no other box, or a service of an earlier version. */
function boxesText(boxes: Boxes | undefined): { readonly boxes?: string } {
  if (boxes === undefined || boxes.total === 0) return {}
  const { total, well, not_well: notWell, silent } = boxes
  const parts = [
    `${well} of ${total} are well`,
    ...(notWell === 0 ? [] : [`${notWell} are not`]),
    ...(silent === 0 ? [] : [`${silent} do not answer`]),
  ]
  return { boxes: parts.join(', ') }
}

/** Before all else, and to people alone. A service of an earlier version tells of none. */
function tellIncidents(
  terminal: Terminal,
  options: StatusOptions,
  incidents: readonly Incident[] | undefined = [],
): void {
  if (options.json !== true) terminal.out(incidentText(incidents, baseUrl(terminal, options)))
}

async function check(terminal: Terminal, options: SpectrumOptions): Promise<void> {
  const { technology, channel, frequency, band, bandwidth, country } = options
  if (channel === undefined && frequency === undefined)
    throw usageError('say what to check: --channel or --frequency')
  const { data } = await connect(terminal, options).post('/v1/spectrum/check', {
    body: {
      technology,
      channels: channel,
      frequency_mhz: frequency,
      band,
      bandwidth_mhz: bandwidth,
      country,
    },
  })
  const { results: rows, ...rest } = data
  printWithTable(terminal, options, data, { rest, rows }, [
    'channel',
    'bands',
    { title: 'DOWNLINK MHZ', value: 'downlink_mhz' },
    { title: 'UPLINK MHZ', value: 'uplink_mhz' },
    'allowed',
    { value: 'reason', fit: 'wrap' },
  ])
  if (!data.allowed) terminal.answer(1)
}
