import { readFile } from 'node:fs/promises'
import type { Command } from 'commander'
import type { ConnectionOptions } from '../client/credentials.ts'
import { connect, type Json } from '../client/rest-client.ts'
import { failure, usageError } from '../command-error.ts'
import { printList, printRecord } from '../output/print.ts'
import type { Terminal } from '../terminal.ts'
import { gathered, type ListOptions, limitOption, positiveInteger, restCommand } from './options.ts'

interface PeerListOptions extends ListOptions {
  readonly removed?: boolean
}
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
export function addPeerCommands(program: Command, terminal: Terminal): void {
  const peer = program.command('peer').description('links to other boxes over WireGuard')
  restCommand(peer, 'list', 'the peers, their routes and health')
    .addOption(limitOption())
    .option('--removed', 'those that were removed, instead')
    .action((options: PeerListOptions) => list(terminal, options))
  restCommand(peer, 'show <peer>', 'one peer, by its name or id').action(
    (name: string, options: ConnectionOptions) => show(terminal, name, options),
  )
  restCommand(peer, 'key', 'what another box must know of this one: public key, port').action(
    async (options: ConnectionOptions) => {
      const { body } = await connect(terminal, options).get('/v1/peers/self')
      printRecord(terminal, options.json === true, body)
    },
  )
  restCommand(peer, 'add <name> <endpoint> <public-key>', 'add a peer; the endpoint is wg://host:port')
    .option('--route <cidr>', 'a network behind it, may be given several times', gathered)
    .option('--preshared-key-file <file>', 'file with a preshared key, as wg genpsk makes it')
    .option('--keepalive <seconds>', 'between two packets of an idle link', positiveInteger)
    .action((name: string, endpoint: string, key: string, options: AddOptions) =>
      add(terminal, { name, endpoint, public_key: key }, options),
    )
  restCommand(peer, 'remove <peer>', 'take a peer and its routes away; its record stays').action(
    (name: string, options: ConnectionOptions) => remove(terminal, name, options),
  )
  restCommand(peer, 'accept <peer>', 'make a peer of a suggested node; compare its fingerprint first').action(
    (name: string, options: ConnectionOptions) => change(terminal, name, 'accept', {}, options),
  )
  addRoutesAndKeys(peer, terminal)
}

function addRoutesAndKeys(peer: Command, terminal: Terminal): void {
  restCommand(peer, 'approve <peer>', 'say which of the routes that a peer advertises are used')
    .option('--route <cidr>', 'this one, may be given several times', gathered)
    .option('--all', 'every route that it advertises now')
    .option('--none', 'none of them any more')
    .action((name: string, options: ApproveOptions) => approve(terminal, name, options))
  restCommand(
    peer,
    'rotate [peer] [next-key]',
    "change this node's key; with a peer and its next key: prepare for the peer's change",
  )
    .option('--force', 'go over to the next key now, whoever knows of it')
    .action((name: string | undefined, key: string | undefined, options: RotateOptions) =>
      rotate(terminal, name, key, options),
    )
}

async function list(terminal: Terminal, options: PeerListOptions): Promise<void> {
  const query = options.removed === true ? { removed: 'true' } : {}
  const found = await connect(terminal, options).list('/v1/peers', 'peers', options.limit, query)
  printList(terminal, options.json === true, found, [
    { title: 'PEER', value: (row) => row.id, fit: 'whole' },
    { title: 'NAME', value: (row) => row.name },
    { title: 'STATE', value: (row) => row.state, fit: 'whole' },
    { title: 'SOURCE', value: (row) => row.source },
    { title: 'ENDPOINT', value: (row) => row.last_endpoint ?? row.endpoint },
    { title: 'HANDSHAKE', value: (row) => age(row.handshake_age_s) },
    { title: 'ROUTES', value: (row) => row.routes },
    { title: 'REASON', value: (row) => row.reason, fit: 'wrap' },
  ])
}

function age(seconds: unknown): string | undefined {
  return typeof seconds === 'number' ? `${seconds} s ago` : undefined
}

async function show(terminal: Terminal, name: string, options: ConnectionOptions): Promise<void> {
  printRecord(terminal, options.json === true, await peerNamed(terminal, name, options))
}

/** A peer by its id or its name. Throws `peer_not_found`. */
async function peerNamed(terminal: Terminal, name: string, options: ConnectionOptions): Promise<Json> {
  const client = connect(terminal, options)
  if (ID.test(name)) return (await client.get(`/v1/peers/${name}`)).body
  const { rows } = await client.list('/v1/peers', 'peers', ALL)
  const [one, other] = rows.filter((row) => row.name === name)
  if (one === undefined) throw failure('peer_not_found', `there is no peer ${name}; svc peer list shows them`)
  if (other !== undefined)
    throw usageError(`several peers are called ${name}; name one by its id, svc peer list shows it`)
  return one
}

async function add(terminal: Terminal, peer: Json, options: AddOptions): Promise<void> {
  const file = options.presharedKeyFile
  const { body } = await connect(terminal, options).change('POST', '/v1/peers', {
    ...peer,
    routes: options.route ?? [],
    ...(file === undefined ? {} : { preshared_key: await secretIn(file) }),
    ...(options.keepalive === undefined ? {} : { keepalive_s: options.keepalive }),
  })
  printRecord(terminal, options.json === true, body)
}

/** A key never stands on the command line, where other users see it. */
async function secretIn(file: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).trim()
  } catch (error) {
    throw failure('cannot_read', `${file}: ${error instanceof Error ? error.message : String(error)}`)
  }
}

async function remove(terminal: Terminal, name: string, options: ConnectionOptions): Promise<void> {
  const peer = await peerNamed(terminal, name, options)
  await connect(terminal, options).change('DELETE', `/v1/peers/${String(peer.id)}`)
  if (options.json === true) printRecord(terminal, true, { id: peer.id, removed: true })
  else terminal.err(`${String(peer.name)} is removed.\n`)
}

async function approve(terminal: Terminal, name: string, options: ApproveOptions): Promise<void> {
  const ways = [options.route, options.all, options.none].filter((way) => way !== undefined)
  if (ways.length !== 1) throw usageError('say which: --route (several times), --all or --none')
  const routes =
    options.all === true ? (await peerNamed(terminal, name, options)).advertised : (options.route ?? [])
  await change(terminal, name, 'approve', { routes }, options)
}

async function change(
  terminal: Terminal,
  name: string,
  verb: 'accept' | 'approve' | 'rotate',
  body: Json,
  options: ConnectionOptions,
): Promise<void> {
  const { id } = await peerNamed(terminal, name, options)
  const answer = await connect(terminal, options).change('POST', `/v1/peers/${String(id)}/${verb}`, body)
  printRecord(terminal, options.json === true, answer.body)
}

async function rotate(
  terminal: Terminal,
  name: string | undefined,
  key: string | undefined,
  options: RotateOptions,
): Promise<void> {
  if (name !== undefined) {
    if (key === undefined || options.force === true)
      throw usageError('svc peer rotate PEER NEXT-KEY takes the next key that the other box has shown')
    await change(terminal, name, 'rotate', { public_key: key }, options)
    return
  }
  const force = options.force === true
  const { body } = await connect(terminal, options).change('POST', '/v1/peers/rotate', force ? { force } : {})
  printRecord(terminal, options.json === true, body)
  if (options.json === true || typeof body.next_public_key !== 'string') return
  terminal.err(
    'Members of the mesh are told by themselves. On each other box: svc peer rotate THIS-PEER NEXT-KEY; then here: svc peer rotate --force\n',
  )
}
