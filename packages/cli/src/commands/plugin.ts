import { existsSync } from 'node:fs'
import { basename, dirname, extname, join, resolve } from 'node:path'
import { makeSigningKey, readSigningKey } from '@steeple/contracts'
import { type Command, Option } from 'commander'
import { failure, usageError } from '../command-error.ts'
import { jsonText } from '../output/print.ts'
import { KINDS, type ScaffoldKind } from '../scaffold/kinds.ts'
import type { Terminal } from '../terminal.ts'
import type { CommandEntry } from './api-commands.ts'
import { localCommand, placeOptions, restCommand } from './options.ts'
import { changeForGood, type LastingOptions, type LoadOptions, loadPlugin } from './plugin-change.ts'

interface NewOptions {
  readonly kind: ScaffoldKind
  readonly dir?: string
  readonly packages?: string
  readonly json?: boolean
}

/** `svc plugin list|load|unload|reload|rollback|disable|enable|uninstall|dev|key|pack|new` */
export const PLUGIN_COMMANDS: readonly CommandEntry[] = [
  { group: 'plugin', summary: 'plugins of the service' },
  {
    usage: 'plugin list',
    summary: 'list plugins, their versions and states',
    operation: 'GET /v1/plugins',
    list: {
      key: 'plugins',
      columns: [
        { value: 'name', fit: 'whole' },
        'version',
        'kind',
        'state',
        'health',
        { value: 'error', fit: 'wrap' },
      ],
    },
  },
  (program, terminal) =>
    placeOptions(
      restCommand(
        program,
        'plugin load <name|path>',
        'load a plugin, or install and load a signed package (./demo.tgz), or a built folder (./demo) with --allow-unsigned',
      ),
    )
      .option(
        '--allow-unsigned',
        "also accept what no key in plugins.trust has signed; it is copied into the service's data directory here",
      )
      .action((name: string, options: LoadOptions) => loadPlugin(terminal, name, options)),
  {
    usage: 'plugin unload <name>',
    summary: 'unload a plugin until you load it, or until the next start; running requests finish',
    operation: 'POST /v1/plugins/{name}/unload',
  },
  {
    usage: 'plugin reload <name>',
    summary: 'start a plugin again, from its newest version',
    operation: 'POST /v1/plugins/{name}/reload',
  },
  {
    usage: 'plugin rollback <name> [version]',
    summary: 'go back to the version before, or to another installed one (plugin list --json names them)',
    operation: 'POST /v1/plugins/{name}/load',
    body: { rollback: true },
  },
  addLasting,
  (program, terminal) =>
    placeOptions(
      restCommand(
        program,
        'plugin dev <dir>',
        'build and load a plugin package, again at each change, until Ctrl-C',
      ),
    ).action(async (dir: string, options: LoadOptions) => {
      const { developPlugin } = await import('./plugin-dev.ts')
      await developPlugin(terminal, dir, options)
    }),
  addPackCommands,
  addNew,
]

function addNew(program: Command, terminal: Terminal): void {
  localCommand(
    program,
    'plugin new <name>',
    'write a plugin package that builds and loads; its tests show what you have to write',
  )
    .addOption(new Option('--kind <kind>', KINDS.join(', ')).choices(KINDS).makeOptionMandatory())
    .option(
      '--dir <dir>',
      'folder to write (default: packages/<name> inside the workspace, ./<name> elsewhere)',
    )
    .option(
      '--packages <dir>',
      'folder with @steeple/contracts, testkit and plugin-kit as .tgz (default: those of this build); registry: from npm',
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
function addLasting(program: Command, terminal: Terminal): void {
  const lasting = (usage: string, summary: string): Command =>
    placeOptions(restCommand(program, usage, summary)).option(
      '--offline',
      'work on the files of a service that does not run (--data-dir names the folder)',
    )
  lasting('plugin disable <name>', 'unload a plugin and do not load it at any start, until enable').action(
    (name: string, options: LastingOptions) => changeForGood(terminal, name, 'disable', options),
  )
  lasting('plugin enable <name>', 'undo disable and load it').action(
    (name: string, options: LastingOptions) => changeForGood(terminal, name, 'enable', options),
  )
  lasting(
    'plugin uninstall <name> [version]',
    'remove the installed versions of a plugin, or one of them; a bundled version is used again',
  ).action((name: string, version: string | undefined, options: LastingOptions) =>
    changeForGood(terminal, name, 'uninstall', options, version),
  )
}

interface KeyOptions {
  readonly name?: string
  readonly json?: boolean
}

interface PackOptions {
  readonly key?: string
  readonly unsigned?: boolean
  readonly out?: string
  readonly json?: boolean
}

/** `svc plugin key|pack` */
function addPackCommands(program: Command, terminal: Terminal): void {
  localCommand(
    program,
    'plugin key <file>',
    'make a key to sign plugins, unless it exists, and print the line for plugins.trust',
  )
    .option('--name <name>', 'name of the person or team with the key (default: the name of the file)')
    .action((file: string, options: KeyOptions) => key(terminal, file, options))
  localCommand(program, 'plugin pack [dir]', 'make a signed package of a built plugin: <id>-<version>.tgz')
    .option('--key <file>', 'key from svc plugin key')
    .option('--unsigned', 'without a signature')
    .option('--out <dir>', 'folder to write to (default: that of the plugin)')
    .action((dir: string | undefined, options: PackOptions) => pack(terminal, dir ?? '.', options))
}

async function key(terminal: Terminal, name: string, options: KeyOptions): Promise<void> {
  const { keyId } = await import('@steeple/kernel')
  const file = resolve(terminal.cwd, name)
  const whose = options.name ?? basename(file, extname(file))
  if (!/^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$/.test(whose))
    throw usageError(
      `${JSON.stringify(whose)} is no name of a key; --name takes letters, digits, ".", "_", "@" and "-"`,
    )
  const isThere = existsSync(file)
  if (!isThere && !existsSync(dirname(file)))
    throw failure('file_unreadable', `there is no folder ${dirname(file)}`)
  const { publicKey } = await (isThere ? readSigningKey(file) : makeSigningKey(file)).catch(refuse)
  const entry = `${publicKey} ${whose}`
  const id = keyId(publicKey)
  if (options.json === true) {
    terminal.out(jsonText({ file, trust: entry, id, made: !isThere }))
    return
  }
  if (!isThere) terminal.err(`made ${file}: keep it to yourself; who has it can sign as ${whose}\n`)
  terminal.err(`key ${id}; for the configuration of each service that shall load what it signs:\n`)
  terminal.out(`plugins: {trust: ["${entry}"]}\n`)
}

async function pack(terminal: Terminal, name: string, options: PackOptions): Promise<void> {
  if ((options.key === undefined) === (options.unsigned !== true))
    throw usageError(
      '--key FILE says who signs (svc plugin key FILE makes one), or --unsigned that nobody does',
    )
  const { packPlugin } = await import('@steeple/kernel')
  const dir = resolve(terminal.cwd, name)
  const signing =
    options.key === undefined
      ? undefined
      : await readSigningKey(resolve(terminal.cwd, options.key)).catch(refuse)
  const out = options.out === undefined ? dir : resolve(terminal.cwd, options.out)
  const packed = await packPlugin(dir, { out, ...(signing === undefined ? {} : { key: signing }) })
  const { id, version, file, signedBy, warnings } = packed
  for (const warning of warnings) terminal.err(`svc: warning: ${warning}\n`)
  if (options.json === true) terminal.out(jsonText({ ...packed, signedBy: signedBy ?? null }))
  else {
    terminal.err(
      `${id} ${version}, ${signedBy === undefined ? 'not signed' : `signed with the key ${signedBy}`}\n`,
    )
    terminal.out(`${join(file)}\n`)
  }
}

/** What is wrong with a key file, as a word to a person. */
function refuse(error: unknown): never {
  const message = error instanceof Error ? error.message : String(error)
  throw failure('key_invalid', message, { cause: error })
}
