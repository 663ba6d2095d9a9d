import { readFile } from 'node:fs/promises'
import type { AnswerOf } from '@steeple/client'
import type { Command } from 'commander'
import type { ConnectionOptions } from '../client/credentials.ts'
import { connect, type Service } from '../client/service.ts'
import { failure, usageError } from '../command-error.ts'
import { printRecord } from '../output/print.ts'
import type { Terminal } from '../terminal.ts'
import type { CommandEntry } from './api-commands.ts'
import { gathered, positiveInteger, restCommand } from './options.ts'

interface AddOptions extends ConnectionOptions {
  readonly route?: readonly string[]
  readonly presharedKeyFile?: string
  readonly keepalive?: number
}
interface ApproveOptions extends ConnectionOptions {
  readonly route?: readonly string[]
  readonly all?: boolean
  readonly none?: boolean
}
interface RotateOptions extends ConnectionOptions {
  readonly force?: boolean
}

/** Ids of peers and of suggestions; everything else is a name. */
const ID = /^(p-[0-9a-f]{1,16}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$/
/** More peers than a node has. */
const ALL = 5_000

/** `svc peer list|show|key|add|remove|approve|accept|rotate`: links to other boxes. */
export const PEER_COMMANDS: readonly CommandEntry[] = [
  { group: 'peer', summary: 'links to other boxes over WireGuard' },
  {
    usage: 'peer list',
    summary: 'the peers, their routes and health',
    operation: 'GET /v1/peers',
    options: { '--removed': 'those that were removed, instead' },
    list: {
      key: 'peers',
      columns: [
        { title: 'PEER', value: 'id', fit: 'whole' },
        'name',
        { value: 'state', fit: 'whole' },
        'source',
        { title: 'ENDPOINT', value: 'last_endpoint|endpoint' },
        { title: 'HANDSHAKE', value: '{handshake_age_s} s ago' },
        'routes',
        { value: 'reason', fit: 'wrap' },
      ],
    },
  },
  (program, terminal) =>
    restCommand(program, 'peer show <peer>', 'one peer, by its name or id').action(
      async (name: string, options: ConnectionOptions) =>
        printRecord(terminal, options, await peerNamed(connect(terminal, options), name)),
    ),
  {
    usage: 'peer key',
    summary: 'what another box must know of this one: public key, port',
    operation: 'GET /v1/peers/self',
  },
  addChanges,
]

function addChanges(program: Command, terminal: Terminal): void {
  restCommand(
    program,
    'peer add <name> <endpoint> <public-key>',
    'add a peer; the endpoint is wg://host:port',
  )
    .option('--route <cidr>', 'a network behind it, may be given several times', gathered)
    .option('--preshared-key-file <file>', 'file with a preshared key, as wg genpsk makes it')
    .option('--keepalive <seconds>', 'between two packets of an idle link', positiveInteger)
    .action((name: string, endpoint: string, public_key: string, options: AddOptions) =>
      add(terminal, { name, endpoint, public_key }, options),
    )
  restCommand(program, 'peer remove <peer>', 'take a peer and its routes away; its record stays').action(
    (name: string, options: ConnectionOptions) => remove(terminal, name, options),
  )
  restCommand(
    program,
    'peer accept <peer>',
    'make a peer of a suggested node; compare its fingerprint first',
  ).action(async (name: string, options: ConnectionOptions) => {
    const service = connect(terminal, options)
    const path = { id: (await peerNamed(service, name)).id }
    printRecord(terminal, options, (await service.post('/v1/peers/{id}/accept', { path })).data)
  })
  restCommand(program, 'peer approve <peer>', 'say which of the routes that a peer advertises are used')
    .option('--route <cidr>', 'this one, may be given several times', gathered)
    .option('--all', 'every route that it advertises now')
    .option('--none', 'none of them any more')
    .action((name: string, options: ApproveOptions) => approve(terminal, name, options))
  restCommand(
    program,
    'peer rotate [peer] [next-key]',
    "change this node's key; with a peer and its next key: prepare for the peer's change",
  )
    .option('--force', 'go over to the next key now, whoever knows of it')
    .action((name: string | undefined, key: string | undefined, options: RotateOptions) =>
      rotate(terminal, name, key, options),
    )
}

/** A peer by its id or its name. Throws `peer_not_found`. */
async function peerNamed(service: Service, name: string): Promise<AnswerOf<'GET', '/v1/peers/{id}'>> {
  if (ID.test(name)) return (await service.get('/v1/peers/{id}', { path: { id: name } })).data
  const { rows } = await service.list('/v1/peers', 'peers', ALL)
  const [one, other] = rows.filter((row) => row.name === name)
  if (one === undefined) throw failure('peer_not_found', `there is no peer ${name}; svc peer list shows them`)
  if (other !== undefined)
    throw usageError(`several peers are called ${name}; name one by its id, svc peer list shows it`)
  return one
}

async function add(
  terminal: Terminal,
  peer: { readonly name: string; readonly endpoint: string; readonly public_key: string },
  { route: routes = [], presharedKeyFile: file, keepalive: keepalive_s, ...options }: AddOptions,
): Promise<void> {
  const preshared_key = file === undefined ? undefined : await secretIn(file)
  const { data } = await connect(terminal, options).post('/v1/peers', {
    body: { ...peer, routes, preshared_key, keepalive_s },
  })
  printRecord(terminal, options, data)
}

/** A key never stands on the command line, where other users see it. */
async function secretIn(file: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).trim()
  } catch (error) {
    throw failure('cannot_read', `${file}: ${error instanceof Error ? error.message : String(error)}`)
  }
}

async function remove(terminal: Terminal, called: string, options: ConnectionOptions): Promise<void> {
  const service = connect(terminal, options)
  const { id, name } = await peerNamed(service, called)
  await service.delete('/v1/peers/{id}', { path: { id } })
  if (options.json === true) printRecord(terminal, options, { id, removed: true })
  else terminal.err(`${name} is removed.\n`)
}

async function approve(terminal: Terminal, name: string, options: ApproveOptions): Promise<void> {
  const ways = [options.route, options.all, options.none].filter((way) => way !== undefined)
  if (ways.length !== 1) throw usageError('say which: --route (several times), --all or --none')
  const service = connect(terminal, options)
  const { id, advertised = [] } = await peerNamed(service, name)
  const routes = options.all === true ? advertised : (options.route ?? [])
  const { data } = await service.post('/v1/peers/{id}/approve', { path: { id }, body: { routes } })
  printRecord(terminal, options, data)
}

async function rotate(
  terminal: Terminal,
  name: string | undefined,
  key: string | undefined,
  options: RotateOptions,
): Promise<void> {
  const service = connect(terminal, options)
  if (name !== undefined) {
    if (key === undefined || options.force === true)
      throw usageError('svc peer rotate PEER NEXT-KEY takes the next key that the other box has shown')
    const path = { id: (await peerNamed(service, name)).id }
    const { data } = await service.post('/v1/peers/{id}/rotate', { path, body: { public_key: key } })
    return printRecord(terminal, options, data)
  }
  const { data } = await service.post('/v1/peers/rotate', { body: { force: options.force } })
  printRecord(terminal, options, data)
  if (options.json === true || data.next_public_key === null) return
  terminal.err(
    'Members of the mesh are told by themselves. On each other box: svc peer rotate THIS-PEER NEXT-KEY; then here: svc peer rotate --force\n',
  )
}
