import { userInfo } from 'node:os'
import { Command, CommanderError, Option } from 'commander'
import type { ConnectionOptions } from './client/credentials.ts'
import { connect, isObject, type Json } from './client/rest-client.ts'
import { type CommandError, failure, usageError } from './command-error.ts'
import { addCompletionCommand } from './commands/completion.ts'
import { addLoginCommands } from './commands/login.ts'
import { addNetworkCommands } from './commands/network.ts'
import { type ListOptions, limitOption, localCommand, placeOptions, restCommand } from './commands/options.ts'
import { addPluginCommands } from './commands/plugin.ts'
import { addPolicyCommands } from './commands/policy.ts'
import { addSessionsCommand } from './commands/sessions.ts'
import { addSimCommands } from './commands/sim.ts'
import { addTokenCommands } from './commands/token.ts'
import { addUserCommands } from './commands/user.ts'
import { writeDisarmNote } from './disarm-note.ts'
import type { ServiceFlags } from './flags.ts'
import { askLines, LOGIN_QUESTIONS } from './output/ask-lines.ts'
import { printList, printRecord } from './output/print.ts'
import { showCredentials } from './output/show-credentials.ts'
import { moment } from './output/table.ts'
import { part as alerts } from './parts/alerts.ts'
import { part as backup } from './parts/backup.ts'
import { part as compliance } from './parts/compliance.ts'
import { part as webConsole } from './parts/console.ts'
import { part as coreConfig } from './parts/core-config.ts'
import { part as esimSmdp } from './parts/esim-smdp.ts'
import { part as fairUse } from './parts/fair-use.ts'
import { part as mesh } from './parts/mesh.ts'
import { part as support } from './parts/support.ts'
import { type PlaceOptions, settingsHere } from './place.ts'
import type { Terminal } from './terminal.ts'
import { versionText } from './version.ts'

const PATH = '/v1/auth/recovery-codes'

/** `svc recovery …`: the recovery codes of who has logged in. */
function addRecoveryCommands(program: Command, terminal: Terminal): void {
  const recovery = program.command('recovery').description('recovery codes of your own, after svc login')
  restCommand(recovery, 'left', 'how many of your recovery codes are left').action(
    (options: ConnectionOptions) => left(terminal, options),
  )
  restCommand(
    recovery,
    'new',
    'other recovery codes for yourself, shown once; asks for password and code (a line each on standard input where it is no terminal)',
  ).action((options: ConnectionOptions) => draw(terminal, options))
}

async function left(terminal: Terminal, options: ConnectionOptions): Promise<void> {
  const { body } = await connect(terminal, options).get(PATH)
  printRecord(terminal, options.json === true, body)
}

async function draw(terminal: Terminal, options: ConnectionOptions): Promise<void> {
  const client = connect(terminal, options)
  const [password = '', code = ''] = await askLines(terminal, LOGIN_QUESTIONS)
  const { body } = await client.change('POST', PATH, { password, code })
  await showCredentials(terminal, options.json === true, body)
}

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

/** `svc clock show`, `svc clock confirm` */
function addClockCommands(program: Command, terminal: Terminal): void {
  const clock = program
    .command('clock')
    .description("the machine's clock, and whether the service believes it")
  restCommand(clock, 'show', 'what it says, and why it is not believed; exit code 1 when it is not').action(
    async (options: ConnectionOptions) => {
      const { body } = await connect(terminal, options).get('/v1/clock')
      printRecord(terminal, options.json === true, body)
      if (body.status !== 'plausible') terminal.answer(1)
    },
  )
  restCommand(clock, 'confirm', 'say that it is right: what is due by it happens at once')
    .option('--time <time>', 'the time as you know it, RFC 3339; refused when the clock is a minute off it')
    .action(async (options: ConnectionOptions & { readonly time?: string }) => {
      const given = options.time === undefined ? {} : { time: options.time }
      const { body } = await connect(terminal, options).change('POST', '/v1/clock/confirm', given)
      printRecord(terminal, options.json === true, body)
    })
}

/** `svc secret set|remove|list`: what plugins keep secret. */
function addSecretCommands(program: Command, terminal: Terminal): void {
  const secret = program.command('secret').description('secrets of plugins; no command shows a value')
  restCommand(
    secret,
    'set <plugin> <key>',
    'seal what standard input holds as the value; the plugin alone can read it',
  ).action((plugin: string, key: string, options: ConnectionOptions) => set(terminal, plugin, key, options))
  restCommand(secret, 'remove <plugin> <key>', 'remove the sealed value').action(
    async (plugin: string, key: string, options: ConnectionOptions) => {
      const { body } = await connect(terminal, options).change('DELETE', pathOf(plugin, key))
      printRecord(terminal, options.json === true, body)
    },
  )
  restCommand(secret, 'list <plugin>', 'the secrets of a plugin and where each value is').action(
    async (plugin: string, options: ConnectionOptions) => {
      const { body } = await connect(terminal, options).get(
        `/v1/plugins/${encodeURIComponent(plugin)}/secrets`,
      )
      const rows = body.secrets as readonly Readonly<Record<string, unknown>>[] // checked by the service
      printList(terminal, options.json === true, { key: 'secrets', rows, nextCursor: null }, [
        { title: 'KEY', value: (row) => row.key, fit: 'whole' },
        { title: 'VALUE FROM', value: (row) => row.from },
      ])
    },
  )
}

async function set(
  terminal: Terminal,
  plugin: string,
  key: string,
  options: ConnectionOptions,
): Promise<void> {
  const value = (await terminal.input()).replace(/\r?\n$/, '')
  if (value === '')
    throw failure(
      'no_value',
      'standard input is empty; give the value there: svc secret set PLUGIN KEY < FILE',
    )
  const { body } = await connect(terminal, options).change('PUT', pathOf(plugin, key), { value })
  printRecord(terminal, options.json === true, body)
}

function pathOf(plugin: string, key: string): string {
  return `/v1/plugins/${encodeURIComponent(plugin)}/secrets/${encodeURIComponent(key)}`
}

interface LocalOptions extends PlaceOptions {
  readonly json?: boolean
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

interface AuditOptions extends ListOptions {
  readonly action?: string
  readonly principal?: string
  readonly target?: string
  readonly from?: string
  readonly to?: string
}

/** `svc audit list|verify` */
function addAuditCommands(program: Command, terminal: Terminal): void {
  const audit = program.command('audit').description('who did what')
  restCommand(audit, 'list', 'entries, newest first')
    .option('--action <action>', 'such as policy.update')
    .option('--principal <id>', 'who did it')
    .option('--target <target>', 'what it was done to')
    .option('--from <time>', 'RFC 3339, such as 2026-01-31T00:00:00Z')
    .option('--to <time>', 'RFC 3339')
    .addOption(limitOption())
    .action((options: AuditOptions) => list(terminal, options))
  placeOptions(
    localCommand(audit, 'verify', 'check the chain of the store on this machine (read-only)'),
  ).action(async (options: PlaceOptions & ConnectionOptions) => {
    const { verifyAudit } = await import('./offline/verify-audit.ts')
    await verifyAudit(terminal, options)
  })
}

async function list(terminal: Terminal, options: AuditOptions): Promise<void> {
  const { action, principal, target, from, to } = options
  const entries = await connect(terminal, options).list('/v1/audit', 'entries', options.limit, {
    action,
    principal,
    target,
    from,
    to,
  })
  printList(terminal, options.json === true, entries, [
    { title: 'SEQ', value: (row) => row.seq },
    { title: 'AT', value: (row) => moment(row.at), fit: 'whole' },
    { title: 'WHO', value: who },
    { title: 'ACTION', value: (row) => row.action, fit: 'whole' },
    { title: 'TARGET', value: (row) => row.target },
    { title: 'OUTCOME', value: (row) => row.outcome },
    { title: 'REQUEST', value: (row) => row.request_id },
  ])
}

function who(row: Json): unknown {
  const principal = row.principal
  return isObject(principal) ? `${String(principal.kind)}:${String(principal.name)}` : principal
}

/** `svc tx arm|disarm|status` */
function addTxCommands(program: Command, terminal: Terminal): void {
  const tx = program.command('tx').description('the TX gate')
  restCommand(tx, 'arm <profile>', 'let the radio transmit with a configured profile (ran.profiles)').action(
    async (profile: string, options: ConnectionOptions) => {
      const body = { arm: true, profile_id: profile }
      const answer = await connect(terminal, options).change('POST', '/v1/tx/arm', body)
      printRecord(terminal, options.json === true, answer.body)
    },
  )
  placeOptions(restCommand(tx, 'disarm', 'stop the transmitter; answers when it is silent')).action(
    async (options: ConnectionOptions & PlaceOptions) => {
      const noted = await noteDisarm(terminal, options)
      try {
        const answer = await connect(terminal, options).change('POST', '/v1/tx/disarm')
        printRecord(terminal, options.json === true, answer.body)
      } catch (error) {
        if (noted !== undefined)
          terminal.err(
            `svc: the disarm stands in ${noted}: the guard of a radio ends it within a second, and nothing goes on air again\n`,
          )
        throw error
      }
    },
  )
  restCommand(tx, 'status', 'the three layers and whether TX is armed').action(
    async (options: ConnectionOptions) => {
      const answer = await connect(terminal, options).get('/v1/tx/arm')
      printRecord(terminal, options.json === true, answer.body)
    },
  )
}

/**
 * Writes the disarm where the guard of the radio and the next start read it: a service that does not answer, or does not run, stops
 * all the same. The file, when that was possible: on this machine, for whom the data directory belongs to.
 */
async function noteDisarm(
  terminal: Terminal,
  options: ConnectionOptions & PlaceOptions,
): Promise<string | undefined> {
  const isElsewhere = options.url !== undefined || (terminal.env.SVC_URL ?? '') !== ''
  if (isElsewhere && options.config === undefined && options.dataDir === undefined) return undefined
  try {
    const dataDir = options.dataDir ?? (await settingsHere(terminal, options)).server.data_dir
    return await writeDisarmNote(dataDir, `local:${userInfo().username}`)
  } catch {
    return undefined // The service is asked anyway.
  }
}
