import type { ConnectionOptions } from '../client/credentials.ts'
import { connect } from '../client/service.ts'
import { printRecord } from '../output/print.ts'
import { qrLines } from '../output/qr-text.ts'
import { fields, printable } from '../output/table.ts'
import type { Terminal } from '../terminal.ts'
import type { CommandEntry } from './api-commands.ts'
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
export const MESH_COMMANDS: readonly CommandEntry[] = [
  { group: 'mesh', summary: 'the boxes that belong together' },
  (program, terminal) =>
    restCommand(
      program,
      'mesh invite',
      'let another box join; shows the token once, and the fingerprint of the CA',
    )
      .option('--name <name>', 'what the token is called in the list of tokens')
      .option('--expires-in <duration>', 'such as 2m; auth.bootstrap_token_ttl when absent, and at most')
      .option('--node-id <id>', 'no other box can use the token')
      .action((options: InviteOptions) => invite(terminal, options)),
  {
    usage: 'mesh members',
    summary: 'the members, their addresses and keys',
    operation: 'GET /v1/mesh/members',
    list: {
      key: 'members',
      isWhole: true,
      columns: [
        { title: 'NODE', value: 'node_id', fit: 'whole' },
        'name',
        { title: 'ADDRESS', value: 'overlay_address' },
        { title: 'ROOT', value: 'is_root', words: { true: 'root', false: '' } },
        { title: 'API', value: 'address' },
        { title: 'JOINED', value: 'joined_at' },
      ],
    },
  },
  {
    usage: 'mesh root-address <url>',
    summary: 'tell this member where its root answers now: https://host:port',
    operation: 'POST /v1/mesh/root-address',
  },
  (program, terminal) => {
    restCommand(
      program,
      'mesh take-root',
      'become the root in the place of one that is lost; prints what to do on the others',
    )
      .option('--force', 'also while the root answers')
      .action((options: TakeRootOptions) => takeRoot(terminal, options))
    restCommand(
      program,
      'node join <token> <root>',
      'join the mesh of an invitation; - reads the token from standard input',
    )
      .option('--name <name>', "what the mesh calls this node; the node's own name when absent")
      .option('--address <host:port>', 'where the other boxes reach the API of this one')
      .option('--leave', 'leave the mesh that this node is in, whose root is lost')
      .action((token: string, root: string, options: JoinOptions) => join(terminal, token, root, options))
    restCommand(program, 'node leave', 'leave the mesh that this node has joined').action(
      (options: ConnectionOptions) => leave(terminal, options),
    )
  },
  {
    usage: 'node remove <id>',
    summary: 'at the root: put a node out of the mesh; its certificates are revoked at once',
    operation: 'POST /v1/nodes/{id}/leave',
  },
]

async function invite(terminal: Terminal, options: InviteOptions): Promise<void> {
  const { name, expiresIn: expires_in, nodeId: node_id } = options
  const { data } = await connect(terminal, options).post('/v1/mesh/invite', {
    body: { name, expires_in, node_id },
  })
  if (options.json === true) return printRecord(terminal, options, data)
  const { command, ...known } = data
  const text = printable(command)
  terminal.out(fields({ ...known, mesh: data.mesh.name }))
  terminal.out(`\nOn the other box:\n  ${text}\n\n${await qrLines(text, terminal.columns !== undefined)}`)
  terminal.err('The token works once. Compare the words of ca_words with what the other box shows.\n')
}

async function takeRoot(terminal: Terminal, options: TakeRootOptions): Promise<void> {
  const { force } = options
  const { data } = await connect(terminal, options).post('/v1/mesh/take-root', { body: { force } })
  if (options.json === true) return printRecord(terminal, options, data)
  const { invitations, ...known } = data
  terminal.out(fields({ ...known, mesh: data.mesh.name }))
  for (const { name, command } of invitations)
    terminal.out(`\nOn ${printable(name)}:\n  ${printable(command)}\n`)
  terminal.err(
    'Each works once. Whoever is late, or was not known here: svc mesh invite, and svc node join with --leave.\n',
  )
}

async function join(terminal: Terminal, given: string, url: string, options: JoinOptions): Promise<void> {
  const token = given === '-' ? (await terminal.input()).trim() : given
  if (given !== '-')
    terminal.err('svc: warning: the token is visible in the process list; give - and it on standard input\n')
  const { name, address, leave: isLeaving } = options
  const { data } = await connect(terminal, options).post('/v1/mesh/join', {
    body: { token, url, name, address, leave: isLeaving },
  })
  printRecord(terminal, options, options.json === true ? data : { ...data, mesh: data.mesh.name })
  terminal.err(
    'Over TLS this box shows the certificate of the mesh from now on: whoever trusts it by its own CA trusts the CA of the root instead (--ca or SVC_CA; keys/mesh/ca.pem of this box).\n',
  )
}

async function leave(terminal: Terminal, options: ConnectionOptions): Promise<void> {
  const service = connect(terminal, options)
  const path = { id: (await service.get('/v1/status')).data.node_id }
  const { data } = await service.post('/v1/nodes/{id}/leave', { path })
  printRecord(terminal, options, data)
  if (data.root_told === false)
    terminal.err('The root could not be reached. Remove this node there, too: svc node remove ID\n')
}
