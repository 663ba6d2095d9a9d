import type { PersonWish } from '@steeple/access/offline'
import type { Command } from 'commander'
import { baseUrl, type ConnectionOptions } from '../client/credentials.ts'
import { INVITATION_PATH, invitationFrom, invitationLink } from '../client/invitation-link.ts'
import { connect, type Json } from '../client/rest-client.ts'
import { usageError } from '../command-error.ts'
import { askLines } from '../output/ask-lines.ts'
import { printList, printRecord } from '../output/print.ts'
import { showCredentials, showInvitation } from '../output/show-credentials.ts'
import { moment } from '../output/table.ts'
import type { PlaceOptions } from '../place.ts'
import type { Terminal } from '../terminal.ts'
import { gathered, type ListOptions, limitOption, placeOptions, restCommand } from './options.ts'
import { addUserCertCommands } from './user-cert.ts'
import { invitationFor, pathOfUser } from './user-id.ts'

interface OfflineOptions extends ConnectionOptions, PlaceOptions {
  readonly offline?: boolean
}
interface AddOptions extends OfflineOptions {
  readonly role?: readonly string[]
  readonly passwordStdin?: boolean
}
interface InviteOptions extends ConnectionOptions {
  readonly role?: readonly string[]
  readonly expiresIn?: string
}
interface ForceOptions extends ConnectionOptions {
  readonly force?: boolean
}

const ROLE = 'role, may be given several times (viewer, operator, sim:issuer, sim:admin, admin)'

/** `svc user …`: the people who may log in, and their certificates. */
export function addUserCommands(program: Command, terminal: Terminal): void {
  const user = program.command('user').description('people: their login, passkeys and certificates')
  offlineToo(
    restCommand(
      user,
      'add <name>',
      'add a person; shows the code for the authenticator and recovery codes once',
    )
      .option('--role <role>', ROLE, gathered)
      .option(
        '--password-stdin',
        'the password is what standard input holds; one is drawn and shown when absent',
      ),
  ).action((name: string, options: AddOptions) => add(terminal, name, options))
  restCommand(user, 'invite <name>', 'a link with which a person sets a password of their own; shown once')
    .option('--role <role>', ROLE, gathered)
    .option('--expires-in <duration>', 'such as 12h or 3d')
    .action((name: string, options: InviteOptions) => invite(terminal, name, options))
  restCommand(
    user,
    'accept [link]',
    'accept an invitation: standard input holds its link (or token), and on the next line the new password',
  ).action((link: string | undefined, options: ConnectionOptions) => accept(terminal, link, options))
  restCommand(user, 'list', 'people and their roles')
    .addOption(limitOption())
    .action((options: ListOptions) => list(terminal, options))
  restCommand(user, 'roles <name> <roles...>', 'set the roles of a person; holds from the next request on')
    .option('--force', 'also when nobody is left then who is an administrator')
    .action((name: string, roles: readonly string[], options: ForceOptions) =>
      setRoles(terminal, name, roles, options),
    )
  offlineToo(
    restCommand(
      user,
      'reset <name>',
      'another password, authenticator and recovery codes; sessions, passkeys and certificates end',
    ),
  ).action((name: string, options: OfflineOptions) => reset(terminal, name, options))
  restCommand(
    user,
    'uninvite <name>',
    'withdraw an invitation; its link is good for nothing from then on',
  ).action((name: string, options: ConnectionOptions) => uninvite(terminal, name, options))
  restCommand(user, 'remove <name>', 'remove a person; everything of theirs opens nothing from then on')
    .option('--force', 'also when nobody is left then who is an administrator')
    .action((name: string, options: ForceOptions) => remove(terminal, name, options))
  addUserCertCommands(user, terminal)
}

/** Where every other way in is lost, or there was none yet. */
function offlineToo(command: Command): Command {
  return placeOptions(
    command.option('--offline', 'on the files of a service that does not run: without any credential'),
  )
}

async function add(terminal: Terminal, name: string, options: AddOptions): Promise<void> {
  const roles = options.role ?? []
  if (roles.length === 0) throw usageError('name at least one --role')
  const password = options.passwordStdin === true ? (await terminal.input()).replace(/\r?\n$/, '') : undefined
  const wish = { name, roles, ...(password === undefined ? {} : { password }) }
  await showCredentials(terminal, options.json === true, await added(terminal, wish, options))
}

async function added(terminal: Terminal, wish: PersonWish, options: AddOptions): Promise<Json> {
  if (options.offline === true) {
    const { addPersonHere } = await import('../offline/change-people.ts')
    return addPersonHere(terminal, options, wish)
  }
  return (await connect(terminal, options).change('POST', '/v1/users', wish)).body
}

async function invite(terminal: Terminal, name: string, options: InviteOptions): Promise<void> {
  const roles = options.role ?? []
  if (roles.length === 0) throw usageError('name at least one --role')
  const { body } = await connect(terminal, options).change('POST', '/v1/users/invitations', {
    name,
    roles,
    ...(options.expiresIn === undefined ? {} : { expires_in: options.expiresIn }),
  })
  const link = invitationLink(baseUrl(terminal, options), String(body.token))
  showInvitation(terminal, options.json === true, { ...body, url: link })
}

async function uninvite(terminal: Terminal, name: string, options: ConnectionOptions): Promise<void> {
  const client = connect(terminal, options)
  const { id } = await invitationFor(client, name)
  await client.change('DELETE', `/v1/users/invitations/${encodeURIComponent(String(id))}`)
  printRecord(terminal, options.json === true, { id, name, withdrawn: true })
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
  const wish = { token, password: chosen }
  const { body } = await connect(terminal, place, true).change('POST', INVITATION_PATH, wish)
  await showCredentials(terminal, options.json === true, body)
}

async function list(terminal: Terminal, options: ListOptions): Promise<void> {
  const users = await connect(terminal, options).list('/v1/users', 'users', options.limit)
  printList(terminal, options.json === true, users, [
    { title: 'NAME', value: (row) => row.name, fit: 'whole' },
    { title: 'ROLES', value: (row) => row.roles },
    { title: 'LAST LOGIN', value: (row) => moment(row.last_login_at) },
    { title: 'RECOVERY CODES', value: (row) => row.recovery_codes_left },
    { title: 'SINCE', value: (row) => moment(row.created_at) },
  ])
}

async function setRoles(
  terminal: Terminal,
  name: string,
  roles: readonly string[],
  options: ForceOptions,
): Promise<void> {
  const client = connect(terminal, options)
  const path = `${await pathOfUser(client, name)}/roles${forced(options)}`
  const { body } = await client.change('POST', path, { roles: roles.flatMap((role) => gathered(role)) })
  printRecord(terminal, options.json === true, body)
}

async function reset(terminal: Terminal, name: string, options: OfflineOptions): Promise<void> {
  if (options.offline === true) {
    const { resetPersonHere } = await import('../offline/change-people.ts')
    await showCredentials(terminal, options.json === true, await resetPersonHere(terminal, options, name))
    return
  }
  const client = connect(terminal, options)
  const { body } = await client.change('POST', `${await pathOfUser(client, name)}/reset`)
  await showCredentials(terminal, options.json === true, body)
}

async function remove(terminal: Terminal, name: string, options: ForceOptions): Promise<void> {
  const client = connect(terminal, options)
  await client.change('DELETE', `${await pathOfUser(client, name)}${forced(options)}`)
  const removed: Json = { name, removed: true }
  printRecord(terminal, options.json === true, removed)
}

function forced({ force }: ForceOptions): string {
  return force === true ? '?force=true' : ''
}
