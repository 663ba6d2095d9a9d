import { existsSync } from 'node:fs'
import type { CodeCommand, CommandHost, Commands, PluginCommand } from '@steeple/contracts'
import type { Command } from 'commander'
import { baseUrl } from '../client/credentials.ts'
import { connect, type Json } from '../client/service.ts'
import { CommandError, failure, unreadable, usageError } from '../command-error.ts'
import { bundledManifests, pluginPackages } from '../composition/plugin-packages.ts'
import { askLines } from '../output/ask-lines.ts'
import { octets } from '../output/octets.ts'
import { jsonText, printList, printRecord } from '../output/print.ts'
import { withProgress } from '../output/progress.ts'
import { saveDownload } from '../output/save-download.ts'
import { type Column, fields, printable, table } from '../output/table.ts'
import { writeSecret } from '../output/write-secret.ts'
import { type PlaceOptions, pluginsDirOf, settingsHere } from '../place.ts'
import type { Terminal } from '../terminal.ts'
import { ARGUMENTS, addCommands, type CommandEntry, optionOf, typedArguments } from './api-commands.ts'
import { type ListOptions, localCommand, placeOptions, restCommand } from './options.ts'
import { simHash } from './sim-columns.ts'

/** Commands of one plugin, and how their modules are loaded. */
interface CommandsOf {
  readonly plugin: string
  readonly commands: readonly PluginCommand[]
  load(module: string): Promise<unknown>
}

/** What the plugins of this build add. */
export function bundledCommands(): readonly CommandEntry[] {
  return bundledManifests().flatMap(({ dir, steeple: { id, commands = [] } }) =>
    entriesOf({ plugin: id, commands, load: (module) => import(new URL(module, `file://${dir}/`).href) }),
  )
}

/**
 * What installed plugins add: those that the service would load here, which is where the words name its configuration or its data, checked
 * as the service checks them. None where nothing is installed or the configuration cannot be read.
 */
export async function installedCommands(
  terminal: Terminal,
  words: readonly string[],
): Promise<readonly CommandEntry[]> {
  const settings = await settingsHere(terminal, placeIn(words)).catch(() => undefined)
  if (settings === undefined) return []
  const pluginsDir = pluginsDirOf(settings)
  if (!existsSync(pluginsDir)) return []
  const { pluginsHere } = await import('@steeple/kernel')
  const plugins = await pluginsHere({ packages: pluginPackages(), pluginsDir }, settings)
  const bundled = new Set(bundledManifests().map(({ steeple }) => steeple.id))
  return plugins
    .filter(({ manifest }) => !bundled.has(manifest.id))
    .flatMap(({ manifest: { id, commands = [] }, module }) =>
      commands.map((one) => guarded(id, one, entriesOf({ plugin: id, commands: [one], load: module }))),
    )
}

/** What svc has already stays; the rest takes the flags by which it was found. */
function guarded(plugin: string, spec: PluginCommand, entries: readonly CommandEntry[]): CommandEntry {
  const words = 'group' in spec ? spec.group : wordsOf(spec.usage)
  return (program, terminal) => {
    if (commandOf(program, words) === undefined) {
      addCommands(program, terminal, entries)
      const added = commandOf(program, words)
      if (added !== undefined && !('group' in spec)) placeOptions(added)
    } else if (!('group' in spec))
      terminal.err(
        `svc: the command ${JSON.stringify(words)} of the plugin ${plugin} is left out, since svc has one\n`,
      )
  }
}

/** Where the service's files are, as far as words say it that nobody has parsed yet. */
function placeIn(words: readonly string[]): PlaceOptions {
  const named = (flag: string): string | undefined => {
    const at = words.findLastIndex((word) => word === flag || word.startsWith(`${flag}=`))
    return words[at] === flag ? words[at + 1] : words[at]?.slice(flag.length + 1)
  }
  const [config, dataDir] = [named('--config'), named('--data-dir')]
  return { ...(config !== undefined && { config }), ...(dataDir !== undefined && { dataDir }) }
}

function wordsOf(usage: string): string {
  return usage.replace(/ [<[].*/, '')
}

function commandOf(program: Command, words: string): Command | undefined {
  return words
    .split(' ')
    .reduce<Command | undefined>((at, word) => at?.commands.find((one) => one.name() === word), program)
}

function entriesOf({ plugin, commands, load }: CommandsOf): readonly CommandEntry[] {
  return commands.map((one): CommandEntry => {
    if (!('module' in one)) return one
    return (program, terminal) => addCodeCommand(program, terminal, one, () => load(one.module), plugin)
  })
}

function addCodeCommand(
  program: Command,
  terminal: Terminal,
  spec: CodeCommand,
  load: () => Promise<unknown>,
  plugin: string,
): void {
  const command = (spec.here === 'alone' ? localCommand : restCommand)(program, spec.usage, spec.summary)
  if (spec.here !== undefined) placeOptions(command)
  ARGUMENTS.set(command, spec.arguments ?? {})
  for (const [flags, option] of Object.entries(spec.options ?? {})) command.addOption(optionOf(flags, option))
  command.action(async () => {
    typedArguments(command, spec)
    const words = wordsOf(spec.usage)
    // Its shape is the author's promise; a word that is missing is said.
    const { commands } = (await load()) as { readonly commands?: Commands }
    const run = commands?.[words]
    if (run === undefined)
      throw failure(
        'plugin_failed',
        `${spec.module} of ${plugin} exports no commands with ${JSON.stringify(words)}`,
      )
    await run(hostOf(terminal, command))
  })
}

/** What was typed, the service and the terminal, as a command of a plugin sees them. */
function hostOf(terminal: Terminal, command: Command): CommandHost {
  const options = command.opts<ListOptions & PlaceOptions>()
  const typed = command.registeredArguments.map((one, at) => [one.name(), command.processedArgs[at]])
  const service = connect(terminal, options)
  return {
    typed: { ...options, ...Object.fromEntries(typed) },
    isJson: options.json === true,
    env: terminal.env,
    cwd: terminal.cwd,
    url: baseUrl(terminal, options).origin,
    simHash,
    call: (operation, request = {}) => service.any(operation, request),
    list: (operation, key, limit, request = {}) => service.anyList(operation, key, limit, request),
    printRecord: (record) => printRecord(terminal, options, record as Json),
    printRows: (rows, columns) => printList(terminal, options, rows, columns),
    open: (operation, request) => service.openAny(operation, request),
    settings: () => settingsHere(terminal, options),
    machine: async () => (await import('../offline/machine-facts.ts')).machineFacts(terminal, options),
    fields: (record) => fields(record as Json),
    table: (rows, columns) => table(rows, columns as readonly Column<object>[], terminal.columns),
    json: jsonText,
    printable,
    octets,
    qr: async (text) =>
      (await import('../output/show-credentials.ts')).qrLines(text, terminal.columns !== undefined),
    qrPicture: async (text, type) => {
      const { toBuffer, toString: toText } = await import('qrcode')
      return type === 'png' ? await toBuffer(text, { type, scale: 8 }) : await toText(text, { type })
    },
    columns: terminal.columns,
    ask: terminal.ask === undefined ? undefined : (questions) => askLines(terminal, questions),
    progress: (what, work, far) => withProgress(terminal, what, work, far),
    save: (what, from, to) => saveDownload(terminal, what, from, to),
    writeSecret,
    out: terminal.out,
    err: terminal.err,
    input: () => terminal.input(),
    answer: terminal.answer,
    usage: usageError,
    unreadable,
    failure: (code, message, hint, cause) =>
      failure(code, message, {
        hint,
        ...(cause instanceof CommandError
          ? { details: cause.details, requestId: cause.requestId, cause }
          : {}),
      }),
  }
}
