import { basename } from 'node:path'
import type { RequestOf } from '@steeple/client'
import { type Command, Option } from 'commander'
import type { ConnectionOptions } from '../client/credentials.ts'
import { connect } from '../client/service.ts'
import { usageError } from '../command-error.ts'
import { jsonText, printList, printRecord } from '../output/print.ts'
import { type Download, saveDownload } from '../output/save-download.ts'
import type { PlaceOptions } from '../place.ts'
import type { Terminal } from '../terminal.ts'
import { placeOptions, restCommand } from './options.ts'

interface BundleOptions extends ConnectionOptions, PlaceOptions {
  readonly output?: string
  readonly offline?: boolean
}
interface LevelOptions extends ConnectionOptions {
  readonly component?: string
  readonly for?: string
  readonly end?: boolean
}

/** `svc support bundle`, `svc log-level` */
export function addSupportCommands(program: Command, terminal: Terminal): void {
  const support = program.command('support').description('help for those who help')
  const bundled = restCommand(
    support,
    'bundle',
    'what they need to know of this node, without its secrets, as a file',
  )
  placeOptions(bundled)
    .option('-o, --output <file>', 'its name; made of node and time when none is given')
    .option('--offline', 'on this machine, while its service does not run: without its log and metrics')
    .action((options: BundleOptions) => bundle(terminal, options))
  restCommand(program, 'log-level [level]', 'log more or less for a time; without a level: what holds now')
    .option('--component <name>', 'of this plugin or part of the kernel alone')
    .addOption(new Option('--for <duration>', 'so long, such as 5m or 2h (at most 24h)').default('15m'))
    .option('--end', 'the level of the configuration again')
    .addHelpText('after', '\nLevels: debug, info, warn, error')
    .action((level: string | undefined, options: LevelOptions) => logLevel(terminal, level, options))
}

async function bundle(terminal: Terminal, options: BundleOptions): Promise<void> {
  const made =
    options.offline === true
      ? await here(terminal, options)
      : await connect(terminal, options).open('/v1/support/bundle')
  const target = { file: options.output, fallback: 'svc-support.tar.gz' }
  const { path, bytes } = await saveDownload(terminal, 'bundle', made, target)
  if (options.json === true) terminal.out(jsonText({ file: path, bytes }))
  else
    terminal.out(`${path}: ${bytes} bytes; look into it before you give it away: tar xzf ${basename(path)}\n`)
}

async function here(terminal: Terminal, options: BundleOptions): Promise<Download> {
  const { bundleHere } = await import('../offline/support-bundle.ts')
  return { headers: { get: () => null }, body: await bundleHere(terminal, options) }
}

async function logLevel(terminal: Terminal, level: string | undefined, options: LevelOptions): Promise<void> {
  if (level !== undefined && options.end === true) throw usageError('give a level or --end, not both')
  const service = connect(terminal, options)
  const { component } = options
  const wanted = options.end === true ? { level: null } : { level: level as Level, for: options.for }
  const { data } =
    level !== undefined || options.end === true
      ? await service.put('/v1/log-level', { body: { component, ...wanted } })
      : await service.get('/v1/log-level')
  if (options.json === true) return printRecord(terminal, options, data)
  const rows = [
    ...data.holds.map((held) => ({ ...held, component: held.component ?? 'all others' })),
    { component: '(configuration)', level: data.level, until: null },
  ]
  printList(terminal, {}, { key: 'holds', rows, nextCursor: null }, [
    { value: 'component', fit: 'whole' },
    { value: 'level', fit: 'whole' },
    'until',
  ])
  terminal.out(`\ncomponents: ${data.components.join(', ')}\n`)
}

/** The service says which there are. */
type Level = RequestOf<'PUT', '/v1/log-level'>['body']['level']
