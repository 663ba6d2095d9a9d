import { type Command, Option } from 'commander'
import type { ConnectionOptions } from '../client/credentials.ts'
import { connect, isObject } from '../client/rest-client.ts'
import { usageError } from '../command-error.ts'
import { printList, printRecord } from '../output/print.ts'
import { moment } from '../output/table.ts'
import type { Terminal } from '../terminal.ts'
import { type ListOptions, limitOption, restCommand } from './options.ts'

interface AlertListOptions extends ListOptions {
  readonly state?: string
  readonly severity?: string
  readonly rule?: string
}
interface SilenceOptions extends ConnectionOptions {
  readonly for?: string
  readonly until?: string
  readonly end?: boolean
}
interface TestOptions extends ConnectionOptions {
  readonly resend?: boolean
}

const IS_OFF = 'svc: no rule is looked at: set alerts.enabled (SVC_ALERTS_ENABLED) of the service\n'
const ID = /^a-[0-9a-f]{16}$/

/** `svc alert list|ack|silence|webhooks|test`: what needs somebody, and who is told. */
export function addAlertCommands(program: Command, terminal: Terminal): void {
  const alert = program.command('alert').description('what needs somebody, and who is told')
  restCommand(alert, 'list', 'alerts, newest first; those that are over too, with --state all')
    .addOption(limitOption())
    .addOption(
      new Option('--state <state>', 'in this state')
        .choices(['open', 'pending', 'firing', 'resolved', 'all'])
        .default('open'),
    )
    .addOption(new Option('--severity <severity>', 'of this weight').choices(['info', 'warning', 'critical']))
    .option('--rule <rule>', 'of this rule')
    .action((options: AlertListOptions) => list(terminal, options))
  restCommand(alert, 'ack <alert>', 'say that somebody takes care of it').action(
    async (id: string, options: ConnectionOptions) => {
      const { body } = await connect(terminal, options).change('POST', `${alertPath(id)}/ack`, {})
      printRecord(terminal, options.json === true, body)
    },
  )
  restCommand(alert, 'silence <alert>', 'tell no receiver of its rule and subject for a time')
    .option('--for <duration>', 'so long, such as 2h or 3d')
    .option('--until <time>', 'until then, RFC 3339')
    .option('--end', 'tell of it again')
    .action((id: string, options: SilenceOptions) => silence(terminal, id, options))
  restCommand(alert, 'webhooks', 'the receivers, and what they have not taken yet').action(
    (options: ConnectionOptions) => webhooks(terminal, options),
  )
  restCommand(alert, 'test <webhook>', 'send a receiver a message, and say whether it took it')
    .option('--resend', 'send again what was given up, when it takes this one')
    .action((name: string, options: TestOptions) => test(terminal, name, options))
}

function alertPath(id: string): string {
  if (ID.test(id)) return `/v1/alerts/${id}`
  throw usageError(`an alert is named by its id, a-…, not ${JSON.stringify(id)}; svc alert list shows it`)
}

async function list(
  terminal: Terminal,
  { state, severity, rule, ...options }: AlertListOptions,
): Promise<void> {
  const query = { state: state === 'all' ? undefined : state, severity, rule }
  const found = await connect(terminal, options).list('/v1/alerts', 'alerts', options.limit, query)
  if (found.rows.length === 0) await sayWhenOff(terminal, options)
  printList(terminal, options.json === true, found, [
    { title: 'ALERT', value: (row) => row.id, fit: 'whole' },
    { title: 'SEVERITY', value: (row) => row.severity, fit: 'whole' },
    { title: 'STATE', value: (row) => row.state, fit: 'whole' },
    { title: 'RULE', value: (row) => row.rule },
    { title: 'SINCE', value: (row) => moment(row.started_at) },
    { title: 'MESSAGE', value: (row) => row.message, fit: 'wrap' },
    { title: 'ACK', value: (row) => row.acked_by },
    { title: 'SILENT UNTIL', value: (row) => moment(row.silenced_until) },
  ])
}

/** An empty list would say that all is well. */
async function sayWhenOff(terminal: Terminal, options: ConnectionOptions): Promise<void> {
  const { body } = await connect(terminal, options).get('/v1/alerts/webhooks')
  if (body.enabled === false) terminal.err(IS_OFF)
}

async function silence(terminal: Terminal, id: string, options: SilenceOptions): Promise<void> {
  const path = `${alertPath(id)}/silence`
  const until = await untilOf(options)
  const { body } = await connect(terminal, options).change('POST', path, { until })
  printRecord(terminal, options.json === true, body)
}

async function untilOf(options: SilenceOptions): Promise<string | null> {
  const ways = [options.for, options.until, options.end].filter((way) => way !== undefined)
  if (ways.length !== 1) throw usageError('say how long: --for, --until or --end')
  if (options.end === true) return null
  if (options.until !== undefined) return options.until
  const { msFromDuration, timestampFromMs } = await import('@steeple/contracts')
  const ms = msFromDuration(options.for ?? '')
  if (ms === undefined) throw usageError(`--for takes a duration such as 2h or 3d, not ${options.for}`)
  return timestampFromMs(Date.now() + ms)
}

async function webhooks(terminal: Terminal, options: ConnectionOptions): Promise<void> {
  const { body } = await connect(terminal, options).get('/v1/alerts/webhooks')
  if (body.enabled === false) terminal.err(IS_OFF)
  const rows = Array.isArray(body.webhooks) ? body.webhooks.filter(isObject) : []
  printList(terminal, options.json === true, { key: 'webhooks', rows, nextCursor: null }, [
    { title: 'WEBHOOK', value: (row) => row.name, fit: 'whole' },
    { title: 'WAITING', value: (row) => row.waiting },
    { title: 'PARKED', value: (row) => row.parked },
    { title: 'LAST ERROR', value: (row) => row.last_error, fit: 'wrap' },
  ])
}

async function test(terminal: Terminal, webhook: string, options: TestOptions): Promise<void> {
  const resend = options.resend === true
  const { body } = await connect(terminal, options).change('POST', '/v1/alerts/webhooks/test', {
    webhook,
    ...(resend && { resend }),
  })
  printRecord(terminal, options.json === true, body)
  if (body.delivered !== true) terminal.answer(1)
}
