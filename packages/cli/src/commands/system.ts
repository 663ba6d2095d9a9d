import { userInfo } from 'node:os'
import type { RequestOf } from '@steeple/client'
import { Option } from 'commander'
import type { ConnectionOptions } from '../client/credentials.ts'
import { connect } from '../client/service.ts'
import { failure, usageError } from '../command-error.ts'
import { writeDisarmNote } from '../disarm-note.ts'
import { askLines, LOGIN_QUESTIONS } from '../output/ask-lines.ts'
import { printRecord } from '../output/print.ts'
import { showCredentials } from '../output/show-credentials.ts'
import { type PlaceOptions, settingsHere } from '../place.ts'
import type { Terminal } from '../terminal.ts'
import type { CommandEntry } from './api-commands.ts'
import { gathered, localCommand, placeOptions, restCommand } from './options.ts'

/** `svc audit list|verify` */
export const AUDIT_COMMANDS: readonly CommandEntry[] = [
  { group: 'audit', summary: 'the audit trail: who did what' },
  {
    usage: 'audit list',
    summary: 'list entries, newest first',
    operation: 'GET /v1/audit',
    options: {
      '--action <action>': 'such as policy.update',
      '--principal <id>': 'who did it',
      '--target <target>': 'what it was done to',
      '--from <time>': 'RFC 3339, such as 2026-01-31T00:00:00Z',
      '--to <time>': 'RFC 3339',
    },
    list: {
      key: 'entries',
      columns: [
        'seq',
        { value: 'at', fit: 'whole' },
        { title: 'WHO', value: '{principal.kind}:{principal.name}' },
        { value: 'action', fit: 'whole' },
        'target',
        'label',
        'outcome',
        { title: 'REQUEST', value: 'request_id' },
      ],
    },
  },
  (program, terminal) =>
    placeOptions(
      localCommand(program, 'audit verify', 'check the hash chain of the store on this machine (read-only)'),
    ).action(async (options: PlaceOptions & ConnectionOptions) => {
      const { verifyAudit } = await import('../offline/commands.ts')
      await verifyAudit(terminal, options)
    }),
]

/** `svc clock show|confirm` */
export const CLOCK_COMMANDS: readonly CommandEntry[] = [
  { group: 'clock', summary: "the machine's clock, and whether it can be right" },
  {
    usage: 'clock show',
    summary: 'show the clock, and why it is in doubt; exit code 1 when it is',
    operation: 'GET /v1/clock',
    expects: { status: 'plausible' },
  },
  {
    usage: 'clock confirm',
    summary: 'confirm that the clock is right; what is due happens at once',
    operation: 'POST /v1/clock/confirm',
    options: {
      '--time <time>': 'the right time, RFC 3339; refused when the clock is a minute off',
    },
  },
]

const RECOVERY_CODES = '/v1/auth/recovery-codes'

/** `svc recovery show|replace`: the recovery codes of who has logged in. */
export const RECOVERY_COMMANDS: readonly CommandEntry[] = [
  { group: 'recovery', summary: 'your own recovery codes, after svc login' },
  {
    usage: 'recovery show',
    summary: 'show how many of your recovery codes are left',
    operation: `GET ${RECOVERY_CODES}`,
  },
  (program, terminal) =>
    restCommand(
      program,
      'recovery replace',
      'replace your recovery codes; shows the new ones once, asks for password and code (two lines when standard input is not a terminal)',
    ).action(async (options: ConnectionOptions) => {
      const service = connect(terminal, options)
      const [password = '', code = ''] = await askLines(terminal, LOGIN_QUESTIONS)
      const { data } = await service.post(RECOVERY_CODES, { body: { password, code } })
      await showCredentials(terminal, options, data)
    }),
]

const SECRET = '/v1/plugins/{name}/secrets/{key}'

/** `svc secret set|remove|list`: what plugins keep secret. */
export const SECRET_COMMANDS: readonly CommandEntry[] = [
  { group: 'secret', summary: 'secrets of plugins; no command shows a value' },
  (program, terminal) =>
    restCommand(
      program,
      'secret set <plugin> <key>',
      'seal standard input as the value; only the plugin can read it',
    ).action((plugin: string, key: string, options: ConnectionOptions) =>
      setSecret(terminal, plugin, key, options),
    ),
  {
    usage: 'secret remove <plugin> <key>',
    summary: 'remove the sealed value',
    operation: `DELETE ${SECRET}`,
    arguments: { plugin: { to: 'path.name' } },
  },
  {
    usage: 'secret list <plugin>',
    summary: 'list the secrets of a plugin and where each value is',
    operation: 'GET /v1/plugins/{name}/secrets',
    arguments: { plugin: { to: 'path.name' } },
    list: {
      key: 'secrets',
      isWhole: true,
      columns: [
        { value: 'key', fit: 'whole' },
        { title: 'VALUE FROM', value: 'from' },
      ],
    },
  },
]

async function setSecret(
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
  const path = { name: plugin, key }
  const { data } = await connect(terminal, options).put(SECRET, { path, body: { value } })
  printRecord(terminal, options, data)
}

interface CreateOptions extends ConnectionOptions {
  readonly role?: RequestOf<'POST', '/v1/tokens'>['body']['roles']
  readonly kind?: 'api' | 'bootstrap'
  readonly expiresIn?: string
  readonly nodeName?: string
  readonly nodeId?: string
}

/** `svc token create|list|revoke` */
export const TOKEN_COMMANDS: readonly CommandEntry[] = [
  { group: 'token', summary: 'scoped tokens and bootstrap tokens' },
  (program, terminal) =>
    restCommand(program, 'token create <name>', 'create a token; it is shown once')
      .option('--role <role>', 'role, may be given several times (viewer, operator, sim:issuer, …)', gathered)
      .option('--expires-in <duration>', 'such as 12h or 30d (default: never)')
      .addOption(new Option('--kind <kind>', 'kind of token (default: api)').choices(['api', 'bootstrap']))
      .option('--node-name <node>', 'name of the node that a bootstrap token is for')
      .option('--node-id <id>', 'or its id, when the node was here before')
      .action((name: string, options: CreateOptions) => createToken(terminal, name, options)),
  {
    usage: 'token list',
    summary: 'list tokens, without the secrets',
    operation: 'GET /v1/tokens',
    list: {
      key: 'tokens',
      columns: [
        { value: 'id', fit: 'whole' },
        'name',
        'kind',
        'roles',
        { title: 'EXPIRES', value: 'expires_at' },
        { title: 'LAST USED', value: 'last_used_at' },
      ],
    },
  },
  {
    usage: 'token revoke <id>',
    summary: 'revoke a token at once',
    operation: 'DELETE /v1/tokens/{id}',
    shows: { id: '{id}', revoked: true },
  },
]

async function createToken(terminal: Terminal, name: string, options: CreateOptions): Promise<void> {
  const roles = options.role ?? []
  const isBootstrap = options.kind === 'bootstrap'
  if (isBootstrap === roles.length > 0)
    throw usageError(isBootstrap ? 'a bootstrap token has no roles' : 'name at least one --role')
  const { expiresIn: expires_in, kind, nodeName: node_name, nodeId: node_id } = options
  const body = { name, roles, expires_in, kind, node_name, node_id }
  const { data } = await connect(terminal, options).post('/v1/tokens', { body })
  printRecord(terminal, options, data)
  terminal.err('Keep the token now: it is not shown again.\n')
}

/** `svc tx arm|disarm|status` */
export const TX_COMMANDS: readonly CommandEntry[] = [
  { group: 'tx', summary: 'the TX gate' },
  {
    usage: 'tx arm <profile>',
    summary: 'let the radio transmit with a radio profile',
    operation: 'POST /v1/tx/arm',
    arguments: { profile: { to: 'body.profile_id' } },
    body: { arm: true },
  },
  (program, terminal) =>
    placeOptions(restCommand(program, 'tx disarm', 'stop the transmitter; ends when it is silent')).action(
      (options: ConnectionOptions & PlaceOptions) => disarm(terminal, options),
    ),
  {
    usage: 'tx status',
    summary: 'show the three layers and whether TX is armed',
    operation: 'GET /v1/tx/arm',
  },
  { group: 'tx profile', summary: 'radio profiles: what may be armed' },
  {
    usage: 'tx profile list',
    summary: 'list the radio profiles and what keeps each off the air',
    operation: 'GET /v1/tx/profiles',
    list: {
      key: 'profiles',
      isWhole: true,
      columns: [
        { title: 'PROFILE', value: 'id' },
        ...['technology', 'band', 'channel', 'bandwidth_mhz', 'eirp_dbm', 'source', 'armed'],
        { title: 'IF THE BOX FAILS', value: 'fallback.detail', fit: 'wrap' },
        { title: 'CLOSED', value: 'closed.0.reason' },
      ],
    },
  },
  {
    usage: 'tx profile set <id>',
    summary: 'make or change a radio profile; disarm an armed one first',
    operation: 'PUT /v1/tx/profiles/{id}',
    options: {
      '--technology <technology>': { summary: 'lte or nr', choices: ['lte', 'nr'], default: 'lte' },
      '--band <band>': 'such as b3 or n78',
      '--channel <number>': { summary: 'EARFCN or NR-ARFCN of the downlink', takes: 'number' },
      '--frequency <mhz>': {
        summary: 'instead of a channel: the centre of the downlink in MHz; needs --band',
        takes: 'number',
        to: 'body.frequency_mhz',
      },
      '--bandwidth <mhz>': {
        summary: 'bandwidth of the carrier, MHz',
        takes: 'number',
        to: 'body.bandwidth_mhz',
      },
      '--eirp-dbm <dbm>': { summary: 'power with the antenna, dBm', takes: 'number' },
      '--tx-gain-db <db>': { summary: 'gain of the transmitter, dB', takes: 'number' },
      '--rx-gain-db <db>': { summary: 'gain of the receiver, dB', takes: 'number' },
      '--dry-run': { summary: 'only say what the gate and the radio would refuse', to: 'query.dry_run' },
    },
  },
  {
    usage: 'tx profile dry-run <id>',
    summary: 'show what an arm would start: checks and configuration files; starts nothing',
    operation: 'GET /v1/tx/profiles/{id}/dry-run',
  },
  {
    usage: 'tx profile remove <id>',
    summary: 'remove a radio profile; disarm an armed one first',
    operation: 'DELETE /v1/tx/profiles/{id}',
    shows: { removed: '{id}' },
  },
]

async function disarm(terminal: Terminal, options: ConnectionOptions & PlaceOptions): Promise<void> {
  const noted = await noteDisarm(terminal, options)
  try {
    printRecord(terminal, options, (await connect(terminal, options).post('/v1/tx/disarm')).data)
  } catch (error) {
    if (noted !== undefined)
      terminal.err(
        `svc: the disarm stands in ${noted}: the guard of a radio ends it within a second, and nothing goes on air again\n`,
      )
    throw error
  }
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
