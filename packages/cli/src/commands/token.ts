import { type Command, Option } from 'commander'
import type { ConnectionOptions } from '../client/credentials.ts'
import { connect } from '../client/rest-client.ts'
import { usageError } from '../command-error.ts'
import { printList, printRecord } from '../output/print.ts'
import { moment } from '../output/table.ts'
import type { Terminal } from '../terminal.ts'
import { gathered, type ListOptions, limitOption, restCommand } from './options.ts'

interface CreateOptions extends ConnectionOptions {
  readonly role?: readonly string[]
  readonly kind?: 'api' | 'bootstrap'
  readonly expiresIn?: string
  readonly nodeName?: string
  readonly nodeId?: string
}

/** `svc token create|list|revoke` */
export function addTokenCommands(program: Command, terminal: Terminal): void {
  const token = program.command('token').description('scoped tokens and bootstrap tokens')
  restCommand(token, 'create <name>', 'make a token; it is shown once')
    .option('--role <role>', 'role, may be given several times (viewer, operator, sim:issuer, …)', gathered)
    .option('--expires-in <duration>', 'such as 12h or 30d; never when absent')
    .addOption(new Option('--kind <kind>', 'api when absent').choices(['api', 'bootstrap']))
    .option('--node-name <node>', 'the node that a bootstrap token is for')
    .option('--node-id <id>', 'or its id, when it was here before')
    .action((name: string, options: CreateOptions) => create(terminal, name, options))
  restCommand(token, 'list', 'tokens, without the secrets')
    .addOption(limitOption())
    .action((options: ListOptions) => list(terminal, options))
  restCommand(token, 'revoke <id>', 'end a token at once').action((id: string, options: ConnectionOptions) =>
    revoke(terminal, id, options),
  )
}

async function create(terminal: Terminal, name: string, options: CreateOptions): Promise<void> {
  const roles = options.role ?? []
  const isBootstrap = options.kind === 'bootstrap'
  if (isBootstrap === roles.length > 0)
    throw usageError(isBootstrap ? 'a bootstrap token has no roles' : 'name at least one --role')
  const { body } = await connect(terminal, options).change('POST', '/v1/tokens', {
    name,
    roles,
    ...(options.expiresIn === undefined ? {} : { expires_in: options.expiresIn }),
    ...(options.kind === undefined ? {} : { kind: options.kind }),
    ...(options.nodeName === undefined ? {} : { node_name: options.nodeName }),
    ...(options.nodeId === undefined ? {} : { node_id: options.nodeId }),
  })
  printRecord(terminal, options.json === true, body)
  terminal.err('Keep the token now: it is not shown again.\n')
}

async function list(terminal: Terminal, options: ListOptions): Promise<void> {
  const tokens = await connect(terminal, options).list('/v1/tokens', 'tokens', options.limit)
  printList(terminal, options.json === true, tokens, [
    { title: 'ID', value: (row) => row.id, fit: 'whole' },
    { title: 'NAME', value: (row) => row.name },
    { title: 'KIND', value: (row) => row.kind },
    { title: 'ROLES', value: (row) => row.roles },
    { title: 'EXPIRES', value: (row) => moment(row.expires_at) },
    { title: 'LAST USED', value: (row) => moment(row.last_used_at) },
  ])
}

async function revoke(terminal: Terminal, id: string, options: ConnectionOptions): Promise<void> {
  await connect(terminal, options).change('DELETE', `/v1/tokens/${encodeURIComponent(id)}`)
  printRecord(terminal, options.json === true, { id, revoked: true })
}
