import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { type Command, Option } from 'commander'
import type { ConnectionOptions } from '../client/credentials.ts'
import { connect } from '../client/rest-client.ts'
import { CommandError, failure } from '../command-error.ts'
import { jsonText, printList, printRecord } from '../output/print.ts'
import { type PlaceOptions, pluginsDirOf, settingsHere } from '../place.ts'
import { KINDS, type ScaffoldKind } from '../scaffold/kinds.ts'
import type { Terminal } from '../terminal.ts'
import { type ListOptions, limitOption, localCommand, placeOptions, restCommand } from './options.ts'

type LoadOptions = ConnectionOptions & PlaceOptions
interface NewOptions {
  readonly kind: ScaffoldKind
  readonly dir?: string
  readonly json?: boolean
}

/** `svc plugin list|load|unload|reload|new` */
export function addPluginCommands(program: Command, terminal: Terminal): void {
  const plugin = program.command('plugin').description('what the service is made of')
  restCommand(plugin, 'list', 'plugins, their versions and states')
    .addOption(limitOption())
    .action((options: ListOptions) => list(terminal, options))
  placeOptions(
    restCommand(plugin, 'load <name|path>', 'load a plugin, or install a built folder (./demo) and load it'),
  ).action((name: string, options: LoadOptions) => load(terminal, name, options))
  restCommand(plugin, 'unload <name>', 'withdraw a plugin; requests in flight finish').action(
    (name: string, options: ConnectionOptions) => change(terminal, name, 'unload', options),
  )
  restCommand(plugin, 'reload <name>', 'start a plugin anew, from its newest version').action(
    (name: string, options: ConnectionOptions) => change(terminal, name, 'reload', options),
  )
  localCommand(plugin, 'new <name>', 'write a plugin package that builds, passes its tests and loads')
    .addOption(new Option('--kind <kind>', KINDS.join(', ')).choices(KINDS).makeOptionMandatory())
    .option('--dir <dir>', 'where to; packages/<name> inside the workspace, ./<name> elsewhere, when absent')
    .action(async (name: string, options: NewOptions) => {
      const { writePlugin } = await import('../scaffold/write-plugin.ts')
      const made = writePlugin({ name, kind: options.kind, dir: options.dir, cwd: terminal.cwd })
      if (options.json === true) terminal.out(jsonText(made))
      else terminal.out(`${made.files.map((file) => `wrote ${file}\n`).join('')}\n${made.next}`)
    })
}

async function list(terminal: Terminal, options: ListOptions): Promise<void> {
  const plugins = await connect(terminal, options).list('/v1/plugins', 'plugins', options.limit)
  printList(terminal, options.json === true, plugins, [
    { title: 'NAME', value: (row) => row.name },
    { title: 'VERSION', value: (row) => row.version },
    { title: 'KIND', value: (row) => row.kind },
    { title: 'STATE', value: (row) => row.state },
    { title: 'ISOLATION', value: (row) => row.isolation },
    { title: 'HEALTH', value: (row) => row.health },
    { title: 'ERROR', value: (row) => row.error },
  ])
}

async function load(terminal: Terminal, name: string, options: LoadOptions): Promise<void> {
  if (!name.includes('/')) {
    await change(terminal, name, 'load', options).catch((error: unknown) => {
      throw withFolderHint(error, name, terminal)
    })
    return
  }
  const { installPlugin } = await import('@steeple/kernel')
  const pluginsDir = pluginsDirOf(await settingsHere(terminal, options))
  const installed = await installPlugin(resolve(terminal.cwd, name), pluginsDir)
  terminal.err(
    `${installed.isNew ? 'installed' : 'already installed:'} ${installed.id} ${installed.version} in ${installed.dir}\n`,
  )
  // The version that was named by its folder, not whatever is the highest.
  await change(terminal, installed.id, 'load', options, { version: installed.version }).catch(
    (error: unknown) => {
      throw withPlaceHint(error, pluginsDir)
    },
  )
}

function withPlaceHint(error: unknown, pluginsDir: string): unknown {
  if (!(error instanceof CommandError) || error.code !== 'plugin_not_found') return error
  const hint = `the service looks elsewhere than in ${pluginsDir}; name its folder with --data-dir or --config`
  return failure(error.code, error.message, { ...error, hint, cause: error })
}

function withFolderHint(error: unknown, name: string, terminal: Terminal): unknown {
  const isFolder = existsSync(resolve(terminal.cwd, name, 'package.json'))
  if (!(error instanceof CommandError) || error.code !== 'plugin_not_found' || !isFolder) return error
  const hint = `to install the folder of that name, write ./${name}`
  return failure(error.code, error.message, { ...error, hint, cause: error })
}

async function change(
  terminal: Terminal,
  name: string,
  action: 'load' | 'unload' | 'reload',
  options: ConnectionOptions,
  request?: { readonly version: string },
): Promise<void> {
  const path = `/v1/plugins/${encodeURIComponent(name)}/${action}`
  const { body } = await connect(terminal, options).change('POST', path, request)
  printRecord(terminal, options.json === true, body)
}
