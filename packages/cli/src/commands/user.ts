import type { PersonWish } from '@steeple/access/offline'
import type { RequestOf } from '@steeple/client'
import type { CommandNames } from '@steeple/contracts'
import type { Command } from 'commander'
import { baseUrl, type ConnectionOptions } from '../client/credentials.ts'
import { connect, type Json } from '../client/service.ts'
import { usageError } from '../command-error.ts'
import type { CertOptions } from '../keys/make-certificate.ts'
import { askLines } from '../output/ask-lines.ts'
import { showCredentials, showInvitation } from '../output/show-credentials.ts'
import type { PlaceOptions } from '../place.ts'
import type { Terminal } from '../terminal.ts'
import { type CommandEntry, idOf } from './api-commands.ts'
import { gathered, placeOptions, restCommand } from './options.ts'

interface OfflineOptions extends ConnectionOptions, PlaceOptions {
  readonly offline?: boolean
}
type Roles = RequestOf<'POST', '/v1/users'>['body']['roles']
interface AddOptions extends OfflineOptions {
  // The service says which one it does not know.
  readonly role?: Roles
  readonly passwordStdin?: boolean
}
interface InviteOptions extends ConnectionOptions {
  readonly role?: Roles
  readonly expiresIn?: string
}

const ROLE = 'role, may be given several times (viewer, operator, sim:issuer, sim:admin, admin)'
const FORCE = {
  '--force': { summary: 'also when no administrator would be left', to: 'query.force' },
}
const USERS: CommandNames = {
  operation: 'GET /v1/users',
  key: 'users',
  code: 'user_not_found',
  missing: 'there is no user {value}',
  hint: 'svc user list has the names',
}
const USER = { name: { to: 'path.id', named: USERS } }

/** `svc user …`: the people who may log in, and their certificates. */
export const USER_COMMANDS: readonly CommandEntry[] = [
  { group: 'user', summary: 'people: their login, passkeys and certificates' },
  { group: 'user invitation', summary: 'invitations that wait' },
  { group: 'user cert', summary: 'client certificates of a person' },
  { group: 'user passkey', summary: 'passkeys of a person' },
  (program, terminal) => {
    offlineToo(
      restCommand(
        program,
        'user add <name>',
        'add a person; shows the code for the authenticator and recovery codes once',
      )
        .option('--role <role>', ROLE, gathered)
        .option(
          '--password-stdin',
          'read the password from standard input (default: a new one is made and shown)',
        ),
    ).action((name: string, options: AddOptions) => add(terminal, name, options))
    restCommand(program, 'user invite <name>', 'make a link by which a person sets a password; shown once')
      .option('--role <role>', ROLE, gathered)
      .option('--expires-in <duration>', 'such as 12h or 3d')
      .action((name: string, options: InviteOptions) => invite(terminal, name, options))
    restCommand(
      program,
      'user accept [link]',
      'accept an invitation; standard input has its link (or token), and the new password on the next line',
    ).action((link: string | undefined, options: ConnectionOptions) => accept(terminal, link, options))
  },
  {
    usage: 'user list',
    summary: 'list people and their roles',
    operation: USERS.operation,
    list: {
      key: USERS.key,
      columns: [
        { value: 'name', fit: 'whole' },
        'roles',
        { title: 'LAST LOGIN', value: 'last_login_at' },
        { title: 'RECOVERY CODES', value: 'recovery_codes_left' },
        { title: 'SINCE', value: 'created_at' },
      ],
    },
  },
  {
    usage: 'user roles <name> <roles...>',
    summary: 'set the roles of a person, from the next request on',
    operation: 'POST /v1/users/{id}/roles',
    arguments: USER,
    options: FORCE,
  },
  (program, terminal) =>
    offlineToo(
      restCommand(
        program,
        'user reset <name>',
        'replace password, authenticator and recovery codes; sessions, passkeys and certificates end',
      ),
    ).action((name: string, options: OfflineOptions) => reset(terminal, name, options)),
  {
    usage: 'user invitation remove <name>',
    summary: 'withdraw an invitation; its link stops working',
    operation: 'DELETE /v1/users/invitations/{id}',
    arguments: {
      name: {
        to: 'path.id',
        named: {
          operation: 'GET /v1/users/invitations',
          key: 'invitations',
          code: 'invitation_not_found',
          missing: 'there is no open invitation for {value}',
          hint: 'who has accepted one is a user: svc user remove',
        },
      },
    },
    shows: { id: '{id}', name: '{name}', withdrawn: true },
  },
  {
    usage: 'user remove <name>',
    summary: 'remove a person; their sessions, credentials and tokens stop working',
    operation: 'DELETE /v1/users/{id}',
    arguments: USER,
    options: FORCE,
    shows: { name: '{name}', removed: true },
  },
  (program, terminal) =>
    restCommand(
      program,
      'user cert add <name>',
      'make a client certificate for a person; the key is made here and stays here',
    )
      .option('--label <text>', 'its name in the list, such as the machine that it is for')
      .option('--expires-in <duration>', 'such as 30d (default: 90d)')
      .option('--out <dir>', 'folder for the files (default: here)')
      .option('--p12', 'also write NAME.p12 for a browser, with a passphrase that is shown once')
      .option('--use', 'save it where svc finds it; commands of this account then need no token over https')
      .action(async (name: string, options: CertOptions) => {
        const { makeCertificate } = await import('../keys/make-certificate.ts')
        await makeCertificate(terminal, name, options, (service) => idOf(service, USERS, name))
      }),
  {
    usage: 'user cert list <name>',
    summary: 'list the client certificates of a person',
    operation: 'GET /v1/users/{id}/certificates',
    arguments: USER,
    list: {
      key: 'certificates',
      columns: [
        { value: 'serial', fit: 'whole' },
        'label',
        { title: 'ISSUED', value: 'issued_at' },
        { title: 'EXPIRES', value: 'expires_at' },
        { title: 'REVOKED', value: 'revoked_at' },
      ],
    },
  },
  {
    usage: 'user cert remove <name> <serial>',
    summary: 'revoke a client certificate at once',
    operation: 'DELETE /v1/users/{id}/certificates/{serial}',
    arguments: USER,
    shows: { serial: '{serial}', revoked: true },
  },
  {
    usage: 'user passkey list <name>',
    summary: 'list the passkeys of a person',
    operation: 'GET /v1/users/{id}/passkeys',
    arguments: USER,
    list: {
      key: 'passkeys',
      isWhole: true,
      columns: [
        { value: 'id', fit: 'whole' },
        'label',
        'host_name',
        { title: 'LAST USED', value: 'last_used_at' },
        { title: 'DISABLED', value: 'disabled_at' },
      ],
    },
  },
  {
    usage: 'user passkey remove <name> <id>',
    summary: 'remove a passkey at once',
    operation: 'DELETE /v1/users/{id}/passkeys/{passkey}',
    arguments: { ...USER, id: { to: 'path.passkey' } },
    shows: { id: '{passkey}', removed: true },
  },
]

/** Where every other way in is lost, or there was none yet. */
function offlineToo(command: Command): Command {
  return placeOptions(
    command.option('--offline', 'work on the files of a service that does not run, without a credential'),
  )
}

async function add(terminal: Terminal, name: string, options: AddOptions): Promise<void> {
  const roles = options.role ?? []
  if (roles.length === 0) throw usageError('name at least one --role')
  const password = options.passwordStdin === true ? (await terminal.input()).replace(/\r?\n$/, '') : undefined
  const wish = { name, roles, ...(password === undefined ? {} : { password }) }
  await showCredentials(terminal, options, await added(terminal, wish, options))
}

async function added(
  terminal: Terminal,
  wish: PersonWish & { readonly roles: Roles },
  options: AddOptions,
): Promise<Json> {
  if (options.offline === true) {
    const { addPersonHere } = await import('../offline/commands.ts')
    return addPersonHere(terminal, options, wish)
  }
  return (await connect(terminal, options).post('/v1/users', { body: wish })).data
}

async function invite(terminal: Terminal, name: string, options: InviteOptions): Promise<void> {
  const { role: roles = [], expiresIn: expires_in } = options
  if (roles.length === 0) throw usageError('name at least one --role')
  const body = { name, roles, expires_in }
  const { data } = await connect(terminal, options).post('/v1/users/invitations', { body })
  const link = invitationLink(baseUrl(terminal, options), data.token)
  showInvitation(terminal, options, { ...data, url: link })
}

async function accept(
  terminal: Terminal,
  link: string | undefined,
  options: ConnectionOptions,
): Promise<void> {
  if (link !== undefined)
    terminal.err('svc: warning: the link is visible in the process list; give it on standard input\n')
  const password = { question: 'A password of your own: ', isHidden: true }
  const first = { question: 'Link or token of the invitation: ', isHidden: true }
  const answers = await askLines(terminal, link === undefined ? [first, password] : [password])
  const [given = '', chosen = ''] = link === undefined ? answers : [link, ...answers]
  if (given === '' || chosen === '')
    throw usageError('standard input holds the link of the invitation, and on the next line the password')
  const { token, origin } = invitationFrom(given.trim())
  const url = options.url ?? origin
  const place = url === undefined ? options : { ...options, url }
  const body = { token, password: chosen }
  const { data } = await connect(terminal, place, true).post(INVITATION_PATH, { body })
  await showCredentials(terminal, options, data)
}

/** Where an invitation is accepted, by a browser and by a command. */
const INVITATION_PATH = '/v1/auth/invitation'

/** The link of an invitation. The token is behind #, which is sent to nobody and gets into no log. RFC 3986 §3.5. */
function invitationLink(base: URL, token: string): string {
  return `${new URL(INVITATION_PATH, base).href}#${token}`
}

/** What a link says, or a token alone. Throws `usage` for a link without a token; nothing of it is repeated. */
function invitationFrom(text: string): {
  readonly token: string
  readonly origin: string | undefined
} {
  if (!text.includes(':')) return { token: text, origin: undefined }
  const url = URL.parse(text)
  const token = url?.hash.slice(1) ?? ''
  if (url === null || !/^https?:$/.test(url.protocol) || !token.startsWith('svci_'))
    throw usageError(
      'the link of an invitation begins with https:// and has the token behind #; give the whole link',
    )
  return { token, origin: url.origin }
}

async function reset(terminal: Terminal, name: string, options: OfflineOptions): Promise<void> {
  if (options.offline === true) {
    const { resetPersonHere } = await import('../offline/commands.ts')
    return await showCredentials(terminal, options, await resetPersonHere(terminal, options, name))
  }
  const service = connect(terminal, options)
  const path = { id: await idOf(service, USERS, name) }
  const { data } = await service.post('/v1/users/{id}/reset', { path })
  await showCredentials(terminal, options, data)
}
