import type { Command } from 'commander'
import type { ConnectionOptions } from '../client/credentials.ts'
import { connect, type Json } from '../client/rest-client.ts'
import { failure } from '../command-error.ts'
import { jsonText, printList, printRecord } from '../output/print.ts'
import { qrLines } from '../output/qr-text.ts'
import { fields, moment, printable } from '../output/table.ts'
import type { Terminal } from '../terminal.ts'
import { restCommand } from './options.ts'

interface InviteOptions extends ConnectionOptions {
  readonly name?: string
  readonly expiresIn?: string
  readonly nodeId?: string
}
interface JoinOptions extends ConnectionOptions {
  readonly name?: string
  readonly address?: string
  readonly leave?: boolean
}

interface TakeRootOptions extends ConnectionOptions {
  readonly force?: boolean
}

/** `svc mesh invite|members|root-address|take-root` and `svc node join|leave|remove`: who belongs to the mesh. */
export function addMeshCommands(program: Command, terminal: Terminal): void {
  const mesh = program.command('mesh').description('the boxes that belong together')
  restCommand(mesh, 'invite', 'let another box join; shows the token once, and the fingerprint of the CA')
    .option('--name <name>', 'what the token is called in the list of tokens')
    .option('--expires-in <duration>', 'such as 2m; auth.bootstrap_token_ttl when absent, and at most')
    .option('--node-id <id>', 'no other box can use the token')
    .action((options: InviteOptions) => invite(terminal, options))
  restCommand(mesh, 'members', 'the members, their addresses and keys').action((options: ConnectionOptions) =>
    members(terminal, options),
  )
  restCommand(
    mesh,
    'root-address <url>',
    'tell this member where its root answers now: https://host:port',
  ).action((url: string, options: ConnectionOptions) => rootAddress(terminal, url, options))
  restCommand(
    mesh,
    'take-root',
    'become the root in the place of one that is lost; prints what to do on the others',
  )
    .option('--force', 'also while the root answers')
    .action((options: TakeRootOptions) => takeRoot(terminal, options))
  const node = program.commands.find((command) => command.name() === 'node')
  if (node === undefined) throw new Error('svc node is not there yet')
  restCommand(
    node,
    'join <token> <root>',
    'join the mesh of an invitation; - reads the token from standard input',
  )
    .option('--name <name>', "what the mesh calls this node; the node's own name when absent")
    .option('--address <host:port>', 'where the other boxes reach the API of this one')
    .option('--leave', 'leave the mesh that this node is in, whose root is lost')
    .action((token: string, root: string, options: JoinOptions) => join(terminal, token, root, options))
  restCommand(node, 'leave', 'leave the mesh that this node has joined').action(
    (options: ConnectionOptions) => leave(terminal, options),
  )
  restCommand(
    node,
    'remove <id>',
    'at the root: put a node out of the mesh; its certificates are revoked at once',
  ).action((id: string, options: ConnectionOptions) => remove(terminal, id, options))
}

async function invite(terminal: Terminal, options: InviteOptions): Promise<void> {
  const { body } = await connect(terminal, options).change('POST', '/v1/mesh/invite', {
    ...(options.name === undefined ? {} : { name: options.name }),
    ...(options.expiresIn === undefined ? {} : { expires_in: options.expiresIn }),
    ...(options.nodeId === undefined ? {} : { node_id: options.nodeId }),
  })
  if (options.json === true) {
    terminal.out(jsonText(body))
    return
  }
  const { command, ...known } = body
  terminal.out(fields({ ...known, mesh: nameOf(body.mesh) }))
  const text = typeof command === 'string' ? printable(command) : ''
  terminal.out(`\nOn the other box:\n  ${text}\n\n${await qrLines(text, terminal.columns !== undefined)}`)
  terminal.err('The token works once. Compare the words of ca_words with what the other box shows.\n')
}

async function members(terminal: Terminal, options: ConnectionOptions): Promise<void> {
  const { body } = await connect(terminal, options).get('/v1/mesh/members')
  const rows = Array.isArray(body.members) ? (body.members as readonly Json[]) : []
  const list = { key: 'members', rows, nextCursor: null }
  printList(terminal, options.json === true, list, [
    { title: 'NODE', value: (row) => row.node_id, fit: 'whole' },
    { title: 'NAME', value: (row) => row.name },
    { title: 'ADDRESS', value: (row) => row.overlay_address },
    { title: 'ROOT', value: (row) => (row.is_root === true ? 'root' : '') },
    { title: 'API', value: (row) => row.address },
    { title: 'JOINED', value: (row) => moment(row.joined_at) },
  ])
}

async function rootAddress(terminal: Terminal, url: string, options: ConnectionOptions): Promise<void> {
  const { body } = await connect(terminal, options).change('POST', '/v1/mesh/root-address', { url })
  printRecord(terminal, options.json === true, body)
}

async function takeRoot(terminal: Terminal, options: TakeRootOptions): Promise<void> {
  const { body } = await connect(terminal, options).change('POST', '/v1/mesh/take-root', {
    ...(options.force === undefined ? {} : { force: options.force }),
  })
  if (options.json === true) {
    terminal.out(jsonText(body))
    return
  }
  const { invitations, ...known } = body
  terminal.out(fields({ ...known, mesh: nameOf(body.mesh) }))
  for (const { name, command } of Array.isArray(invitations) ? (invitations as readonly Json[]) : [])
    terminal.out(`\nOn ${printable(String(name))}:\n  ${printable(String(command))}\n`)
  terminal.err(
    'Each works once. Whoever is late, or was not known here: svc mesh invite, and svc node join with --leave.\n',
  )
}

async function join(terminal: Terminal, given: string, root: string, options: JoinOptions): Promise<void> {
  const token = given === '-' ? (await terminal.input()).trim() : given
  if (given !== '-')
    terminal.err('svc: warning: the token is visible in the process list; give - and it on standard input\n')
  const { body } = await connect(terminal, options).change('POST', '/v1/mesh/join', {
    token,
    url: root,
    ...(options.name === undefined ? {} : { name: options.name }),
    ...(options.address === undefined ? {} : { address: options.address }),
    ...(options.leave === undefined ? {} : { leave: options.leave }),
  })
  printRecord(
    terminal,
    options.json === true,
    options.json === true ? body : { ...body, mesh: nameOf(body.mesh) },
  )
  terminal.err(
    'Over TLS this box shows the certificate of the mesh from now on: whoever trusts it by its own CA trusts the CA of the root instead (--ca or SVC_CA; keys/mesh/ca.pem of this box).\n',
  )
}

async function leave(terminal: Terminal, options: ConnectionOptions): Promise<void> {
  const client = connect(terminal, options)
  const { body: status } = await client.get('/v1/status')
  if (typeof status.node_id !== 'string')
    throw failure('no_node', 'the service does not say which node it is')
  const { body } = await client.change('POST', `/v1/nodes/${status.node_id}/leave`, {})
  printRecord(terminal, options.json === true, body)
  if (body.root_told === false)
    terminal.err('The root could not be reached. Remove this node there, too: svc node remove ID\n')
}

async function remove(terminal: Terminal, id: string, options: ConnectionOptions): Promise<void> {
  const path = `/v1/nodes/${encodeURIComponent(id)}/leave`
  const { body } = await connect(terminal, options).change('POST', path, {})
  printRecord(terminal, options.json === true, body)
}

function nameOf(mesh: unknown): unknown {
  return typeof mesh === 'object' && mesh !== null ? Reflect.get(mesh, 'name') : mesh
}
