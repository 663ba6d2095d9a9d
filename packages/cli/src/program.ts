import { Command, CommanderError, Option } from 'commander'
import { type CommandError, usageError } from './command-error.ts'
import { addAuditCommands } from './commands/audit.ts'
import { addClockCommands } from './commands/clock.ts'
import { addCompletionCommand } from './commands/completion.ts'
import { addLoginCommands } from './commands/login.ts'
import { addMachineCommands } from './commands/machine.ts'
import { addNetworkCommands } from './commands/network.ts'
import { addPluginCommands } from './commands/plugin.ts'
import { addPolicyCommands } from './commands/policy.ts'
import { addRecoveryCommands } from './commands/recovery.ts'
import { addSecretCommands } from './commands/secret.ts'
import { addSessionsCommand } from './commands/sessions.ts'
import { addSimCommands } from './commands/sim.ts'
import { addTokenCommands } from './commands/token.ts'
import { addTxCommands } from './commands/tx.ts'
import { addUserCommands } from './commands/user.ts'
import type { ServiceFlags } from './flags.ts'
import { part as alerts } from './parts/alerts.ts'
import { part as backup } from './parts/backup.ts'
import { part as compliance } from './parts/compliance.ts'
import { part as webConsole } from './parts/console.ts'
import { part as coreConfig } from './parts/core-config.ts'
import { part as esimSmdp } from './parts/esim-smdp.ts'
import { part as fairUse } from './parts/fair-use.ts'
import { part as mesh } from './parts/mesh.ts'
import { part as support } from './parts/support.ts'
import type { Terminal } from './terminal.ts'
import { versionText } from './version.ts'

/** Runs the service until it has ended. */
export type Serve = (flags: ServiceFlags) => Promise<void>

/** Codes of commander that mean "said what was asked for". */
const ANSWERS: readonly string[] = ['commander.helpDisplayed', 'commander.version']

/** Runs the command of `words`. Throws what it fails with; a mistake in the words is a `CommandError`. */
export async function runProgram(terminal: Terminal, serve: Serve, words: readonly string[]): Promise<void> {
  try {
    await buildProgram(terminal, serve).parseAsync(words, { from: 'user' })
  } catch (error) {
    const fault = error instanceof CommanderError ? parserFault(error) : error
    if (fault !== undefined) throw fault
  }
}

/** The command tree. Nothing that a command needs beyond parsing and REST is loaded before it runs. */
export function buildProgram(terminal: Terminal, serve: Serve): Command {
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
  program.hook('preSubcommand', (_, command) => refuseFlagsBefore(program, command))
  program.action(async (flags: ServiceFlags) => {
    refuseWord(program)
    await serve(flags)
  })
  addMachineCommands(program, terminal)
  addNetworkCommands(program, terminal)
  mesh.addCommands?.(program, terminal)
  addLoginCommands(program, terminal)
  addRecoveryCommands(program, terminal)
  webConsole.addCommands?.(program, terminal)
  addUserCommands(program, terminal)
  addTokenCommands(program, terminal)
  addSimCommands(program, terminal)
  esimSmdp.addCommands?.(program, terminal)
  addSessionsCommand(program, terminal)
  fairUse.addCommands?.(program, terminal)
  addPolicyCommands(program, terminal)
  addTxCommands(program, terminal)
  coreConfig.addCommands?.(program, terminal)
  addClockCommands(program, terminal)
  alerts.addCommands?.(program, terminal)
  addAuditCommands(program, terminal)
  backup.addCommands?.(program, terminal)
  compliance.addCommands?.(program, terminal)
  addPluginCommands(program, terminal)
  addSecretCommands(program, terminal)
  support.addCommands?.(program, terminal)
  addCompletionCommand(program, terminal)
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
  return names.filter((name) => !name.startsWith('__')).join(', ')
}

/** The fault behind an error of the parser; undefined when it only answered `--help` or `--version`. */
function parserFault(error: CommanderError): CommandError | undefined {
  if (ANSWERS.includes(error.code)) return undefined
  return usageError(error.message.replace(/^error: /, '').replaceAll(/\s*\n\s*/g, ' '))
}
