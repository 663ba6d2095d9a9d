import { type Command, Option } from 'commander'
import type { ConnectionOptions } from '../client/credentials.ts'
import { connect } from '../client/rest-client.ts'
import { jsonText, printList } from '../output/print.ts'
import { KINDS, type ScaffoldKind } from '../scaffold/kinds.ts'
import type { Terminal } from '../terminal.ts'
import { type ListOptions, limitOption, localCommand, placeOptions, restCommand } from './options.ts'
import { changePlugin, type LoadOptions, loadPlugin } from './plugin-change.ts'

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
  ).action((name: string, options: LoadOptions) => loadPlugin(terminal, name, options))
  restCommand(
    plugin,
    'unload <name>',
    'withdraw a plugin, or remove one that failed; requests in flight finish',
  ).action((name: string, options: ConnectionOptions) => changePlugin(terminal, name, 'unload', options))
  restCommand(plugin, 'reload <name>', 'start a plugin anew, from its newest version').action(
    (name: string, options: ConnectionOptions) => changePlugin(terminal, name, 'reload', options),
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
