import { type Command, InvalidArgumentError, Option } from 'commander'
import type { ConnectionOptions } from '../client/credentials.ts'

/** A subcommand that talks to the service: `--url`, `--token`, `--token-file`, `--json`. */
export function restCommand(parent: Command, usage: string, summary: string): Command {
  return localCommand(parent, usage, summary)
    .option('--url <url>', 'address of the service (SVC_URL; default: http://127.0.0.1:8080)')
    .option(
      '--token <token>',
      'bearer token; other users see it in the process list, so use SVC_TOKEN instead',
    )
    .option('--token-file <file>', 'file with the bearer token')
    .option(
      '--cert <file>',
      'client certificate, instead of a token (SVC_CERT; default: that of svc user cert add --use)',
    )
    .option('--key <file>', 'key of the client certificate (SVC_KEY)')
    .option('--ca <file>', "CA of the service's certificate (SVC_CA); no other CA is trusted then")
}

/** A subcommand of this machine: `--json` alone. `usage` may begin with the group that it is of. */
export function localCommand(parent: Command, usage: string, summary: string): Command {
  const [names = '', behind = ''] = usage.split(/(?= [<[])(.*)/)
  const groups = names.split(' ')
  const command = `${groups.pop()}${behind}`
  return groups.reduce(groupOf, parent).command(command).description(summary).option('--json', 'print JSON')
}

/** The group of that name, which is made when it is not there. */
export function groupOf(parent: Command, name: string): Command {
  return parent.commands.find((command) => command.name() === name) ?? parent.command(name)
}

/** `--limit`: at most so many rows over all pages. */
export function limitOption(): Option {
  return new Option('--limit <rows>', 'show at most this many rows').default(1000).argParser(positiveInteger)
}

/** `--config` and `--data-dir`, for what works on the service's own files. */
export function placeOptions(command: Command): Command {
  return command
    .option('--config <file>', 'YAML configuration (default: /etc/svc/control.yaml)')
    .option('--data-dir <dir>', 'folder of data and keys (default: from the configuration)')
}

/** What the service takes besides its place, started by itself or by `svc lab`. */
export function serviceOptions(command: Command): Command {
  return command
    .option('--listen <address>', 'address for REST and metrics (default: 0.0.0.0:8080)')
    .addOption(
      new Option('--log-level <level>', 'log level (default: info)').choices([
        'debug',
        'info',
        'warn',
        'error',
      ]),
    )
    .option('--safe-mode', 'do not load installed plugins, when one of them stops the service from working')
}

/** The options of a command that lists. */
export interface ListOptions extends ConnectionOptions {
  readonly limit: number
}

/** Parses a whole number from 1 on. */
export function positiveInteger(text: string): number {
  const value = Number(text)
  if (!/^\d{1,15}$/.test(text) || value < 1) throw new InvalidArgumentError('It is a whole number from 1 on.')
  return value
}

/** Parses a number that may have a fraction. */
export function positiveNumber(text: string): number {
  const value = Number(text)
  if (!/^\d+(\.\d+)?$/.test(text) || value <= 0) throw new InvalidArgumentError('It is a number above 0.')
  return value
}

/** Gathers the values of an option that may be given several times, or with commas. */
export function gathered(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, ...text.split(',').map((part) => part.trim())]
}
