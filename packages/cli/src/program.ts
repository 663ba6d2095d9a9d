import { X509Certificate } from 'node:crypto'
import type { AnswerOf, ItemOf } from '@steeple/client'
import { cutWords, isCostUnknown, serialOf } from '@steeple/contracts'
import { Command, CommanderError, Option } from 'commander'
import { baseUrl, bearerToken, type ConnectionOptions } from './client/credentials.ts'
import { identityOf } from './client/identity.ts'
import { connect, isObject, type Json } from './client/service.ts'
import { dropSession, keepSession, sessionFor } from './client/session.ts'
import { failure, fileOf, usageError } from './command-error.ts'
import { addCommands, type CommandEntry } from './commands/api-commands.ts'
import { arranged } from './commands/arranged.ts'
import { addCompletionCommand } from './commands/completion.ts'
import { NETWORK_COMMANDS } from './commands/network.ts'
import {
  type ListOptions,
  limitOption,
  localCommand,
  placeOptions,
  restCommand,
  serviceOptions,
} from './commands/options.ts'
import { PLUGIN_COMMANDS } from './commands/plugin.ts'
import { bundledCommands, installedCommands } from './commands/plugin-commands.ts'
import { SIM_COMMANDS } from './commands/sim.ts'
import { simHash } from './commands/sim-columns.ts'
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
import { askLines, LOGIN_QUESTIONS } from './output/ask-lines.ts'
import { jsonText, printList, printRecord } from './output/print.ts'
import { type Column, cell, printable, valueAt } from './output/table.ts'
import { labCorePrograms } from './package-root.ts'
import type { PlaceOptions } from './place.ts'
import type { Terminal } from './terminal.ts'
import { buildRecord, versionText } from './version.ts'

interface SetOptions extends ConnectionOptions {
  readonly file?: string
  readonly yes?: boolean
}

/** Fields of the bundle that the service sets itself. Contract section 5. */
const OWN_FIELDS = ['revision', 'updated_at'] as const

/** `svc policy get|set` */
function addPolicyCommands(program: Command, terminal: Terminal): void {
  const policy = program.command('policy').description('the policy bundle')
  restCommand(
    policy,
    'get [key]',
    'show the bundle, or one value of it (spectrum.license.acknowledged)',
  ).action((key: string | undefined, options: ConnectionOptions) => get(terminal, key, options))
  restCommand(policy, 'set [assignments...]', 'change values: key.path=value, with the value as JSON or text')
    .option('--file <file>', 'JSON with the keys to change, or - for standard input')
    .option('--yes', 'do it although phones lose the network; without it the command then only says how many')
    .action((assignments: readonly string[], options: SetOptions) => set(terminal, assignments, options))
}

async function get(terminal: Terminal, key: string | undefined, options: ConnectionOptions): Promise<void> {
  const { data } = await connect(terminal, options).get('/v1/policy')
  if (key === undefined) return printRecord(terminal, options, data)
  const value = valueAt(data, key)
  if (value === undefined) throw failure('policy_key_unknown', `the policy bundle has no ${key}`)
  terminal.out(options.json === true ? jsonText(value) : `${cell(value)}\n`)
}

async function set(terminal: Terminal, assignments: readonly string[], options: SetOptions): Promise<void> {
  const fromFile = options.file === undefined ? {} : await patchFromFile(terminal, options.file)
  const patch = assign(fromFile, patchFromAssignments(assignments))
  const service = connect(terminal, options)
  // A bundle that was read, edited and sent back names the revision it was made from.
  const revision = patch.revision
  const ifMatch = typeof revision === 'number' ? `"${revision}"` : (await service.get('/v1/policy')).etag
  const changes = Object.fromEntries(Object.entries(patch).filter(([name]) => !isOwnField(name)))
  if (Object.keys(changes).length === 0) throw usageError('nothing to set; give key.path=value or --file')
  const isAsking = options.yes !== true && 'apns' in changes
  const query = { dry_run: true }
  const tried = isAsking ? await service.put('/v1/policy', { query, body: changes, ifMatch }) : undefined
  const cut = cutBy(tried?.data.core)
  if (cut !== undefined) terminal.err(`${cut}. Nothing was changed. To do it, add --yes\n`)
  const { notes = [], problems = [] } = tried?.data.core ?? {}
  for (const note of notes) terminal.err(`Note: ${printable(note)}\n`)
  for (const problem of problems) terminal.err(`Problem: ${printable(problem)}\n`)
  if (cut !== undefined) return terminal.answer(1)
  const { data } = await service.put('/v1/policy', { body: changes, ifMatch })
  printRecord(terminal, options, data)
}

/** Whom a change of the policy cuts off, in words; undefined where it cuts off nobody. */
function cutBy(core: AnswerOf<'PUT', '/v1/policy'>['core']): string | undefined {
  // A service of an earlier version does not tell.
  const { restarts = [], subscribers_dropped: dropped = 0, problems = [] } = core ?? {}
  if (isCostUnknown({ restarts, subscribers_dropped: dropped, problems }))
    return 'The effect on the core is not known'
  return restarts.length === 0 || dropped === 0 ? undefined : cutWords(restarts.map(printable), dropped)
}

async function patchFromFile(terminal: Terminal, file: string): Promise<Json> {
  const name = file === '-' ? 'standard input' : file
  const text = file === '-' ? await terminal.input() : (await fileOf(file)).toString('utf8')
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw failure('malformed_json', `${name} is not JSON: ${(cause as Error).message}`, { cause })
  }
  if (!isObject(value)) throw failure('malformed_json', `${name} holds no JSON object`)
  return value
}

function isOwnField(name: string): boolean {
  return OWN_FIELDS.some((field) => field === name)
}

/**
 * The merge patch (RFC 7396) of `key.path=value` words.
 *
 * A value that is JSON (`10`, `true`, `["a","b"]`, `null`) is taken as such, everything else as text. Throws `usage`.
 */
export function patchFromAssignments(words: readonly string[]): Json {
  return words.reduce<Json>((patch, word) => assign(patch, patchOf(word)), {})
}

/** `over` laid over `base`, object by object. */
export function assign(base: Json, over: Json): Json {
  const merged: Record<string, unknown> = { ...base }
  for (const [name, value] of Object.entries(over)) {
    const before = merged[name]
    merged[name] = isObject(before) && isObject(value) ? assign(before, value) : value
  }
  return merged
}

function patchOf(word: string): Json {
  const split = word.indexOf('=')
  const path = word.slice(0, split).split('.')
  if (split < 1 || !path.every((name) => /^[a-z][a-z0-9_]*$/.test(name)))
    throw usageError(`${JSON.stringify(word)} is no key.path=value`)
  const value: unknown = valueFromText(word.slice(split + 1))
  // At least one name: split gives one for the empty string too, and that is refused above.
  return path.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as Json
}

function valueFromText(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** States of a session. Contract section 7. */
const SESSION_STATES = ['active', 'idle', 'ended'] as const

interface SessionOptions extends ListOptions {
  readonly state?: (typeof SESSION_STATES)[number]
  readonly apn?: string
  readonly sim?: string
}

/** `svc session list` */
function addSessionsCommand(program: Command, terminal: Terminal): void {
  restCommand(
    program,
    'session list',
    'list the sessions of phones that are online now; --state ended: earlier ones',
  )
    .addOption(limitOption())
    .addOption(
      new Option('--state <state>', 'only those in this state (default: live ones)').choices(SESSION_STATES),
    )
    .option('--apn <apn>', 'only of this APN or DNN')
    .option('--sim <hash>', 'only of this SIM')
    .action(async (options: SessionOptions) => {
      const { state, apn, sim, limit } = options
      const query = { state, apn, imsi: sim === undefined ? undefined : simHash(sim) }
      const found = await connect(terminal, options).list('/v1/sessions', 'sessions', limit, { query })
      printList(terminal, options, found, state === 'ended' ? ENDED_COLUMNS : LIVE_COLUMNS)
    })
}

type Columns = readonly Column<ItemOf<'/v1/sessions'>>[]

const WHO: Columns = [
  { title: 'SIM', value: 'imsi_sha256_12', fit: 'whole' },
  'apn',
  { title: 'ADDRESS', value: 'ue_ip', fit: 'whole' },
]
const HOW_MUCH: Columns = [
  { title: 'UP', value: 'up_bytes', as: 'bytes', fit: 'whole' },
  { title: 'DOWN', value: 'down_bytes', as: 'bytes', fit: 'whole' },
  { title: 'STARTED', value: 'started_at', fit: 'whole' },
]
const WHERE: Columns = [
  { title: 'RADIO', value: 'technology', usual: 'lte' },
  { value: 'cell', usual: '-' },
  'source',
]
const LIVE_COLUMNS: Columns = [...WHO, { value: 'state', usual: 'active' }, ...HOW_MUCH, ...WHERE]
const ENDED_COLUMNS: Columns = [
  ...WHO,
  ...HOW_MUCH,
  { title: 'ENDED', value: 'ended_at', fit: 'whole' },
  ...WHERE,
]

/** Runs the service until it has ended. */
export type Serve = (flags: ServiceFlags) => Promise<void>

/** Codes of commander that mean "said what was asked for". */
const ANSWERS: readonly string[] = ['commander.helpDisplayed', 'commander.version', 'commander.help']

/** Runs the command of `words`. Throws what it fails with; a mistake in the words is a `CommandError`. */
export async function runProgram(terminal: Terminal, serve: Serve, words: readonly string[]): Promise<void> {
  const own = arranged(buildProgram(terminal, serve), words)
  const isWhole = own.leaf !== undefined && own.leaf !== 'completion'
  const { program, line } = isWhole
    ? own
    : arranged(buildProgram(terminal, serve, await installedCommands(terminal, words)), words)
  try {
    await program.parseAsync(line, { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
  }
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
    .description('The control plane of a mobile network in a box.')
    .enablePositionalOptions()
    .configureOutput({
      writeOut: (text) => terminal.out(text),
      // What commander would print comes back as its error, see `ended`.
      writeErr: () => {},
    })
    .version(versionText(), '--version', 'print version and exit')
    .helpOption('--help', 'show what a command takes')
    .configureHelp({ sortSubcommands: true })
    .addHelpText('after', HELP)
  const served = addServeCommand(program, serve)
  program.addHelpText('after', () => servedHelp(served))
  addCommands(program, terminal, [...COMMANDS, ...bundledCommands(), ...installed])
  finish(program)
  return program
}

const HELP = `
svc COMMAND --help shows what a command takes. Its options may stand before it: svc --url https://box:8080 status
svc serve runs the service. Options of serve without a command do the same: svc --config FILE`

/** `svc serve`; flags of the service alone mean it, too. */
function addServeCommand(program: Command, serve: Serve): Command {
  return serviceOptions(placeOptions(program.command('serve').description('run the service')))
    .option('--first-start', 'make the node and a first login if there is none, and show how to use them')
    .action(serve)
}

/** The options of the service, below those of the program. */
function servedHelp(served: Command): string {
  const help = served.createHelp()
  const options = served.options.filter(({ long }) => long !== '--first-start')
  const width = Math.max(...options.map((option) => help.optionTerm(option).length))
  const lines = options.map(
    (option) => `  ${help.optionTerm(option).padEnd(width)}  ${help.optionDescription(option)}`,
  )
  return ['', 'Options of the service:', ...lines].join('\n')
}

/** Gives every command the same help option and says of each mistake where help is. */
function finish(command: Command): void {
  command
    .helpCommand(false)
    .allowExcessArguments(false)
    .exitOverride((error) => {
      throw ended(command, error)
    })
  for (const child of command.commands) finish(child.helpOption('--help', 'show what it takes'))
}

/** What the end of the parser means: an answer such as help, which is thrown on as it is, or a mistake. */
function ended(command: Command, error: CommanderError): Error {
  const name = nameOf(command)
  const isGroup = command.commands.length > 0
  if (error.code === 'commander.help') {
    if (command.parent !== null) return usageError(`${name} needs a command; ${name} --help shows them`)
    command.outputHelp()
  }
  if (ANSWERS.includes(error.code)) return error
  const said = error.message.replace(/^error: /, '').replaceAll(/\s*\n\s*/g, ' ')
  return usageError(
    `${said.replace(/\.$/, '')}; ${name} --help shows ${isGroup ? 'the commands' : 'what it takes'}`,
  )
}

function nameOf(command: Command): string {
  return command.parent === null ? command.name() : `${nameOf(command.parent)} ${command.name()}`
}

interface LocalOptions extends PlaceOptions {
  readonly json?: boolean
}

/** `svc lab`, but in a build without the lab core. */
function addLabCommand(program: Command, terminal: Terminal): void {
  if (buildRecord() !== undefined && labCorePrograms() === undefined) return
  const lab = program
    .command('lab')
    .description('run the service with a simulated core, radio and phones, until Ctrl-C')
    .option('--config <file>', 'YAML configuration; it names its own core, so none is simulated')
    .option('--data-dir <dir>', 'folder of data and keys (SVC_SERVER_DATADIR; default: ./data)')
  serviceOptions(lab)
    .option('--no-core', 'run only the service')
    // It always does; `npm start` may be told as the service is.
    .addOption(new Option('--first-start').hideHelp())
    .action(async (options: LabOptions) => {
      const { runLab } = await import('./lab.ts')
      terminal.answer(await runLab(terminal, options, labCorePrograms()))
    })
}

type OfflineCommands = typeof import('./offline/commands.ts')

/** `svc node init`, `config check`, `vault rotate`, `store new`, `store accept`, `doctor`: what works on this machine's files. */
function addMachineCommands(program: Command, terminal: Terminal): void {
  const onFiles = <Options extends LocalOptions>(
    usage: string,
    summary: string,
    run: (commands: OfflineCommands, options: Options) => Promise<void>,
  ): Command =>
    placeOptions(localCommand(program, usage, summary)).action(async (options: Options) =>
      run(await import('./offline/commands.ts'), options),
    )
  program.command('node').description('this node')
  onFiles<LocalOptions & { readonly name?: string }>(
    'node init',
    'create the node, its keys and its CA; a second run changes nothing',
    ({ initNodeHere }, options) => initNodeHere(terminal, options),
  ).option('--name <name>', 'name of the node (default: that of the host)')
  program.command('config').description('the configuration')
  localCommand(
    program,
    'config check [file]',
    'show every problem: file, line, column, key and what is allowed',
  )
    .option('--config <file>', 'the file (default: /etc/svc/control.yaml)')
    .action(async (named: string | undefined, options: Pick<LocalOptions, 'config' | 'json'>) => {
      const { checkConfigFile } = await import('./offline/check-config-file.ts')
      await checkConfigFile(terminal, named ?? options.config, options.json === true)
    })
  program.command('vault').description('the key that seals secrets in the store')
  onFiles(
    'vault rotate',
    'seal everything with a new key; you may stop it and run it again',
    ({ rotateVaultHere }, options) => rotateVaultHere(terminal, options),
  )
  program.command('store').description('the store of the service')
  onFiles(
    'store new',
    'let the next start create an empty store, when the old one is lost for good',
    ({ permitNewStoreHere }, options) => permitNewStoreHere(terminal, options),
  )
  onFiles(
    'store accept',
    'let the next start go on although the store has lost confirmed changes',
    ({ acceptStoreHere }, options) => acceptStoreHere(terminal, options),
  )
  placeOptions(localCommand(program, 'doctor', 'find what is wrong on this machine and say what to do'))
    .option('--listen <address>', 'address of the service (default: from the configuration)')
    .action(async (options: LocalOptions & { readonly listen?: string }) => {
      const { runDoctor } = await import('./doctor/doctor.ts')
      await runDoctor(terminal, options)
    })
}

/** `svc login|logout|whoami` */
function addLoginCommands(program: Command, terminal: Terminal): void {
  restCommand(
    program,
    'login <name>',
    'log in by password and code (two lines when standard input is not a terminal)',
  ).action((name: string, options: ConnectionOptions) => login(terminal, name, options))
  restCommand(program, 'logout', 'end the session of svc login').action((options: ConnectionOptions) =>
    logout(terminal, options),
  )
  restCommand(program, 'whoami', 'show which credential commands use').action((options: ConnectionOptions) =>
    whoAmI(terminal, options),
  )
}

async function login(terminal: Terminal, username: string, options: ConnectionOptions): Promise<void> {
  const base = baseUrl(terminal, options)
  const [password = '', code = ''] = await askLines(terminal, LOGIN_QUESTIONS)
  const answer = await connect(terminal, options, true).post('/v1/auth/login', {
    body: { username, password, code },
  })
  const session = await keepSession(terminal, base, username, answer)
  printRecord(terminal, options, {
    name: username,
    origin: session.origin,
    token_expires_at: session.expires_at,
  })
}

async function logout(terminal: Terminal, options: ConnectionOptions): Promise<void> {
  const base = baseUrl(terminal, options)
  const session = sessionFor(terminal, base)
  if (session === undefined) throw failure('not_logged_in', `nobody is logged in at ${base.origin}`)
  const headers = { cookie: session.cookie }
  await connect(terminal, options, true).post('/v1/auth/logout', { headers })
  dropSession(terminal)
  printRecord(terminal, options, { name: session.name, logged_out: true })
}

/** In the order in which commands look for a credential. Asks nobody. */
async function whoAmI(terminal: Terminal, options: ConnectionOptions): Promise<void> {
  const base = baseUrl(terminal, options)
  const print = (record: Readonly<Record<string, unknown>>): void =>
    printRecord(terminal, options, { url: base.origin, ...record })
  if (bearerToken(terminal, options) !== undefined) return print({ by: 'token' })
  const session = options.cert === undefined ? sessionFor(terminal, base) : undefined
  if (session !== undefined)
    return print({ by: 'session', name: session.name, token_expires_at: session.expires_at })
  const identity = base.protocol === 'https:' ? identityOf(terminal, options)?.client : undefined
  if (identity === undefined)
    throw failure('nobody', 'there is no credential', {
      hint: 'svc login NAME, SVC_TOKEN, or a client certificate over https (svc user cert add NAME --use)',
    })
  const certificate = new X509Certificate(identity.cert)
  print({
    by: 'certificate',
    name: certificate.subjectAltName ?? certificate.subject,
    serial: serialOf(certificate),
    expires_at: new Date(certificate.validTo).toISOString(),
  })
}
