import { type Command, Option } from 'commander'
import type { ConnectionOptions } from '../client/credentials.ts'
import { connect } from '../client/rest-client.ts'
import { jsonText, printList } from '../output/print.ts'
import { KINDS, type ScaffoldKind } from '../scaffold/kinds.ts'
import type { Terminal } from '../terminal.ts'
import { type ListOptions, limitOption, localCommand, placeOptions, restCommand } from './options.ts'
import { changePlugin, type LoadOptions, loadPlugin } from './plugin-change.ts'
import { changeForGood, type LastingOptions } from './plugin-lasting.ts'
import { addPackCommands } from './plugin-pack.ts'

interface NewOptions {
  readonly kind: ScaffoldKind
  readonly dir?: string
  readonly packages?: string
  readonly json?: boolean
}

/** `svc plugin list|load|unload|reload|rollback|disable|enable|uninstall|dev|key|pack|new` */
export function addPluginCommands(program: Command, terminal: Terminal): void {
  const plugin = program.command('plugin').description('what the service is made of')
  restCommand(plugin, 'list', 'plugins, their versions and states')
    .addOption(limitOption())
    .action((options: ListOptions) => list(terminal, options))
  placeOptions(
    restCommand(
      plugin,
      'load <name|path>',
      'load a plugin, or install a signed package (./demo.tgz) and load it; a built folder (./demo) with --allow-unsigned',
    ),
  )
    .option(
      '--allow-unsigned',
      "also what nobody in plugins.trust has signed; it is put into the service's data directory here",
    )
    .action((name: string, options: LoadOptions) => loadPlugin(terminal, name, options))
  restCommand(
    plugin,
    'unload <name>',
    'withdraw a plugin until it is loaded or the next start; requests in flight finish',
  ).action((name: string, options: ConnectionOptions) => changePlugin(terminal, name, 'unload', options))
  restCommand(plugin, 'reload <name>', 'start a plugin anew, from its newest version').action(
    (name: string, options: ConnectionOptions) => changePlugin(terminal, name, 'reload', options),
  )
  restCommand(
    plugin,
    'rollback <name> [version]',
    'go back to the version before, or to an older one that is installed still (plugin list --json names them)',
  ).action((name: string, version: string | undefined, options: ConnectionOptions) =>
    changePlugin(terminal, name, 'load', options, {
      ...(version === undefined ? {} : { version }),
      rollback: true,
    }),
  )
  addLasting(plugin, terminal)
  placeOptions(
    restCommand(
      plugin,
      'dev <dir>',
      'build a plugin package, load it, and do so again at each change until Ctrl-C',
    ),
  ).action(async (dir: string, options: LoadOptions) => {
    const { developPlugin } = await import('./plugin-dev.ts')
    await developPlugin(terminal, dir, options)
  })
  addPackCommands(plugin, terminal)
  addNew(plugin, terminal)
}

function addNew(plugin: Command, terminal: Terminal): void {
  localCommand(
    plugin,
    'new <name>',
    'write a plugin package that builds and loads, and whose tests say what is left to write',
  )
    .addOption(new Option('--kind <kind>', KINDS.join(', ')).choices(KINDS).makeOptionMandatory())
    .option('--dir <dir>', 'where to; packages/<name> inside the workspace, ./<name> elsewhere, when absent')
    .option(
      '--packages <dir>',
      'folder with @steeple/contracts, testkit and plugin-kit as .tgz; those of this build when absent; registry: from npm',
    )
    .action(async (name: string, options: NewOptions) => {
      const { writePlugin } = await import('../scaffold/write-plugin.ts')
      const { kind, dir, packages } = options
      const made = writePlugin({
        ...{ name, kind, dir, cwd: terminal.cwd },
        ...(packages === undefined ? {} : { packages }),
      })
      if (options.json === true) terminal.out(jsonText(made))
      else terminal.out(`${made.files.map((file) => `wrote ${file}\n`).join('')}\n${made.next}`)
    })
}

/** What every later start does with a plugin. */
function addLasting(plugin: Command, terminal: Terminal): void {
  lastingCommand(
    plugin,
    'disable <name>',
    'withdraw a plugin for good: no start loads it until enable',
  ).action((name: string, options: LastingOptions) => changeForGood(terminal, name, 'disable', options))
  lastingCommand(plugin, 'enable <name>', 'undo disable and load it').action(
    (name: string, options: LastingOptions) => changeForGood(terminal, name, 'enable', options),
  )
  lastingCommand(
    plugin,
    'uninstall <name> [version]',
    'remove what was installed of a plugin, or one version; one of the build takes its place again',
  ).action((name: string, version: string | undefined, options: LastingOptions) =>
    changeForGood(terminal, name, 'uninstall', options, version),
  )
}

function lastingCommand(plugin: Command, usage: string, summary: string): Command {
  return placeOptions(restCommand(plugin, usage, summary)).option(
    '--offline',
    'on the files of a service that does not run (--data-dir says where)',
  )
}

async function list(terminal: Terminal, options: ListOptions): Promise<void> {
  const plugins = await connect(terminal, options).list('/v1/plugins', 'plugins', options.limit)
  printList(terminal, options.json === true, plugins, [
    { title: 'NAME', value: (row) => row.name, fit: 'whole' },
    { title: 'VERSION', value: (row) => row.version },
    { title: 'KIND', value: (row) => row.kind },
    { title: 'STATE', value: (row) => row.state },
    { title: 'HEALTH', value: (row) => row.health },
    { title: 'ERROR', value: (row) => row.error, fit: 'wrap' },
  ])
}
