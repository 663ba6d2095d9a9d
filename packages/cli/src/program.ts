import { Command, CommanderError, Option } from 'commander'
import { type CommandError, usageError } from './command-error.ts'
import { addCommands, type CommandEntry } from './commands/api-commands.ts'
import { addCompletionCommand } from './commands/completion.ts'
import { addLoginCommands } from './commands/login.ts'
import { NETWORK_COMMANDS } from './commands/network.ts'
import { localCommand, placeOptions } from './commands/options.ts'
import { PLUGIN_COMMANDS } from './commands/plugin.ts'
import { bundledCommands, installedCommands } from './commands/plugin-commands.ts'
import { addPolicyCommands } from './commands/policy.ts'
import { addSessionsCommand } from './commands/sessions.ts'
import { SIM_COMMANDS } from './commands/sim.ts'
import {
  AUDIT_COMMANDS,
  CLOCK_COMMANDS,
  RECOVERY_COMMANDS,
  SECRET_COMMANDS,
  TOKEN_COMMANDS,
  TX_COMMANDS,
} from './commands/system.ts'
import { USER_COMMANDS } from './commands/user.ts'
import type { ServiceFlags } from './flags.ts'
import type { LabOptions } from './lab.ts'
import { labCorePrograms } from './package-root.ts'
import type { PlaceOptions } from './place.ts'
import type { Terminal } from './terminal.ts'
import { buildRecord, versionText } from './version.ts'

/** Runs the service until it has ended. */
export type Serve = (flags: ServiceFlags) => Promise<void>

/** Codes of commander that mean "said what was asked for". */
const ANSWERS: readonly string[] = ['commander.helpDisplayed', 'commander.version']

/** Runs the command of `words`. Throws what it fails with; a mistake in the words is a `CommandError`. */
export async function runProgram(terminal: Terminal, serve: Serve, words: readonly string[]): Promise<void> {
  try {
    const own = buildProgram(terminal, serve)
    const isWhole = isCommandOf(own, words)
    const program = isWhole ? own : buildProgram(terminal, serve, await installedCommands(terminal, words))
    await program.parseAsync(words, { from: 'user' })
  } catch (error) {
    const fault = error instanceof CommanderError ? parserFault(error) : error
    if (fault !== undefined) throw fault
  }
}

/** Whether the words name a command of this build, so that what is installed beside it does not matter. */
function isCommandOf(program: Command, words: readonly string[]): boolean {
  let command: Command | undefined = program
  for (const word of words) {
    command = command?.commands.find((one) => one.name() === word)
    if (command === undefined) return word === '--version'
    if (command.commands.length === 0) return word !== 'completion'
  }
  return false
}

/** The commands of every build. */
export const COMMANDS: readonly CommandEntry[] = [
  addMachineCommands,
  addLabCommand,
  ...NETWORK_COMMANDS,
  addLoginCommands,
  ...RECOVERY_COMMANDS,
  ...USER_COMMANDS,
  ...TOKEN_COMMANDS,
  ...SIM_COMMANDS,
  addSessionsCommand,
  addPolicyCommands,
  ...TX_COMMANDS,
  ...CLOCK_COMMANDS,
  ...AUDIT_COMMANDS,
  ...PLUGIN_COMMANDS,
  ...SECRET_COMMANDS,
  addCompletionCommand,
]

/** The command tree. Nothing that a command needs beyond parsing and REST is loaded before it runs. */
export function buildProgram(
  terminal: Terminal,
  serve: Serve,
  installed: readonly CommandEntry[] = [],
): Command {
  const program = new Command('svc')
    .description('The control plane of a mobile network in a box. Without a command, svc runs the service.')
    .enablePositionalOptions()
    .allowExcessArguments()
    .showSuggestionAfterError()
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.out(text),
      // What commander would print comes back as its error, see `parserFault`.
      writeErr: () => {},
    })
    .option('--config <file>', 'YAML configuration (default: /etc/svc/control.yaml)')
    .option('--data-dir <dir>', 'data and keys directory (default: /var/lib/svc)')
    .option('--listen <address>', 'REST and metrics listen address (default: 0.0.0.0:8080)')
    .addOption(new Option('--log-level <level>', 'default: info').choices(['debug', 'info', 'warn', 'error']))
    .option('--safe-mode', 'leave installed plugins alone, when one of them keeps the service from working')
    .option('--first-start', 'make the node and a way in when there is none yet, and say how to use them')
    .version(versionText(), '--version', 'print version and exit')
    .helpOption('--help', 'show what a command takes')
    .helpCommand(false)
    .configureHelp({ sortSubcommands: true })
  program.hook('preSubcommand', (_, command) => refuseFlagsBefore(program, command))
  program.action(async (flags: ServiceFlags) => {
    refuseWord(program)
    await serve(flags)
  })
  addCommands(program, terminal, [...COMMANDS, ...bundledCommands(), ...installed])
  program.addHelpText('before', () => knownAlone(program))
  finish(program)
  return program
}

/** Flags before a command are the service's, and would be ignored: keys would be made in another directory than was asked. */
function refuseFlagsBefore(program: Command, command: Command): void {
  const given = program.options.filter(
    (option) => program.getOptionValueSource(option.attributeName()) === 'cli',
  )
  if (given.length === 0) return
  const flags = given.map(({ long }) => long).join(', ')
  throw usageError(
    `${flags} before a command is not looked at; write it behind: svc ${command.name()} … ${flags} …`,
  )
}

/** Gives every command the same help option, and every group an answer to a word that is no command of it. */
function finish(command: Command): void {
  for (const child of command.commands) {
    child.helpOption('--help', 'show what it takes').helpCommand(false).allowExcessArguments(false)
    if (child.commands.length > 0)
      child
        .addHelpText('before', () => knownAlone(child))
        .allowExcessArguments()
        .action(() => {
          refuseWord(child)
          throw usageError(`${child.name()} needs a command: ${namesOf(child)}`)
        })
    finish(child)
  }
}

/** Help is for what there is: `svc tokens --help` asks for no command of it. */
function knownAlone(group: Command): string {
  if (group.args[0]?.startsWith('-') === false) refuseWord(group)
  return ''
}

function refuseWord(group: Command): void {
  const [word] = group.args
  if (word === undefined) return
  const of = group.parent === null ? '' : ` ${group.name()}`
  throw usageError(`there is no command${of} ${JSON.stringify(word)}; it is one of ${namesOf(group)}`)
}

function namesOf(group: Command): string {
  const names = group.commands.map((command) => command.name())
  return names
    .filter((name) => !name.startsWith('__'))
    .toSorted()
    .join(', ')
}

/** The fault behind an error of the parser; undefined when it only answered `--help` or `--version`. */
function parserFault(error: CommanderError): CommandError | undefined {
  if (ANSWERS.includes(error.code)) return undefined
  return usageError(error.message.replace(/^error: /, '').replaceAll(/\s*\n\s*/g, ' '))
}

interface LocalOptions extends PlaceOptions {
  readonly json?: boolean
}

/** `svc lab`, but in a build without the lab core. */
function addLabCommand(program: Command, terminal: Terminal): void {
  if (buildRecord() !== undefined && labCorePrograms() === undefined) return
  program
    .command('lab')
    .description('run the service with a simulated core, radio and phones beside it, until Ctrl-C')
    .option('--config <file>', 'YAML configuration; it names its own core, and none is simulated')
    .option('--data-dir <dir>', 'data and keys directory (SVC_SERVER_DATADIR; ./data when absent)')
    .option('--listen <address>', 'REST and metrics listen address (default: 0.0.0.0:8080)')
    .addOption(new Option('--log-level <level>', 'default: info').choices(['debug', 'info', 'warn', 'error']))
    .option('--safe-mode', 'leave installed plugins alone, when one of them keeps the service from working')
    .option('--no-core', 'the service alone')
    // It always does; `npm start` may be told as the service is.
    .addOption(new Option('--first-start').hideHelp())
    .action(async (options: LabOptions) => {
      const { runLab } = await import('./lab.ts')
      terminal.answer(await runLab(terminal, options, labCorePrograms()))
    })
}

/** `svc node init`, `config check`, `vault rotate`, `store new`, `store accept`, `doctor`: what works on this machine's files. */
function addMachineCommands(program: Command, terminal: Terminal): void {
  const node = program.command('node').description('this node')
  placeOptions(
    localCommand(node, 'init', 'make the node, its keys and its mesh CA; a second run changes nothing'),
  )
    .option('--name <name>', "the node's name; the host's when absent")
    .action(async (options: LocalOptions & { readonly name?: string }) => {
      const { initNodeHere } = await import('./offline/init-node.ts')
      await initNodeHere(terminal, options)
    })
  const config = program.command('config').description('the configuration')
  localCommand(config, 'check [file]', 'name every problem: file, line, column, key and what is allowed')
    .option('--config <file>', 'the file, as elsewhere (/etc/svc/control.yaml when none is named)')
    .action(async (named: string | undefined, options: Pick<LocalOptions, 'config' | 'json'>) => {
      const { checkConfigFile } = await import('./offline/check-config-file.ts')
      await checkConfigFile(terminal, named ?? options.config, options.json === true)
    })
  const vault = program.command('vault').description('the key that seals secrets in the store')
  placeOptions(
    localCommand(vault, 'rotate', 'seal everything under a new key; may be broken off and run again'),
  ).action(async (options: LocalOptions) => {
    const { rotateVaultHere } = await import('./offline/rotate-vault.ts')
    await rotateVaultHere(terminal, options)
  })
  const store = program.command('store').description('where everything is kept')
  placeOptions(
    localCommand(store, 'new', 'let the next start make an empty store, where the old one is gone for good'),
  ).action(async (options: LocalOptions) => {
    const { permitNewStoreHere } = await import('./offline/new-store.ts')
    await permitNewStoreHere(terminal, options)
  })
  placeOptions(
    localCommand(
      store,
      'accept',
      'let the next start go on without answered commits that the store has lost',
    ),
  ).action(async (options: LocalOptions) => {
    const { acceptStoreHere } = await import('./offline/new-store.ts')
    await acceptStoreHere(terminal, options)
  })
  placeOptions(localCommand(program, 'doctor', 'look for what is wrong here and say what to do'))
    .option('--listen <address>', 'listen address of the service (from the configuration when absent)')
    .action(async (options: LocalOptions & { readonly listen?: string }) => {
      const { runDoctor } = await import('./doctor/doctor.ts')
      await runDoctor(terminal, options)
    })
}
