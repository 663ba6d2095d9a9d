import { readFile } from 'node:fs/promises'
import { type CommandHost, type Commands, messageOf } from '@steeple/contracts'

/** Ids of peers and of suggestions; everything else is a name. */
const ID = /^(p-[0-9a-f]{1,16}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$/
/** More peers than a node has. */
const ALL = 5_000

/** `svc peer show|add|remove|approve|accept|rotate`: links to other boxes. */
const peerCommands: Commands = {
  'peer show': async (host) => host.printRecord(await peerNamed(host)),
  'peer add': async (host) => {
    const {
      name,
      endpoint,
      'public-key': public_key,
      route: routes = [],
      keepalive: keepalive_s,
    } = host.typed
    const { presharedKeyFile: file } = host.typed
    const preshared_key = file === undefined ? undefined : await secretIn(host, String(file))
    const body = { name, endpoint, public_key, routes, preshared_key, keepalive_s }
    host.printRecord(await host.call('POST /v1/peers', { body }))
  },
  'peer remove': async (host) => {
    const { id, name } = await peerNamed(host)
    await host.call('DELETE /v1/peers/{id}', { path: { id } })
    if (host.isJson) host.printRecord({ id, removed: true })
    else host.err(`${name} is removed.\n`)
  },
  'peer accept': async (host) => {
    const { id } = await peerNamed(host)
    host.printRecord(await host.call('POST /v1/peers/{id}/accept', { path: { id } }))
  },
  'peer approve': async (host) => {
    const { route, all, none } = host.typed
    if ([route, all, none].filter((way) => way !== undefined).length !== 1)
      throw host.usage('say which: --route (several times), --all or --none')
    const { id, advertised = [] } = await peerNamed(host)
    const routes = all === true ? advertised : (route ?? [])
    host.printRecord(await host.call('POST /v1/peers/{id}/approve', { path: { id }, body: { routes } }))
  },
  'peer rotate': async (host) => {
    const { peer, 'next-key': public_key, force } = host.typed
    if (peer !== undefined) {
      if (public_key === undefined || force === true)
        throw host.usage('svc peer rotate PEER NEXT-KEY takes the next key that the other box has shown')
      const { id } = await peerNamed(host)
      return host.printRecord(
        await host.call('POST /v1/peers/{id}/rotate', { path: { id }, body: { public_key } }),
      )
    }
    const data = await host.call('POST /v1/peers/rotate', { body: { force } })
    host.printRecord(data)
    if (host.isJson || data.next_public_key === null) return
    host.err(
      'Members of the mesh learn it by themselves. On each other box: svc peer rotate THIS-PEER NEXT-KEY; then here: svc peer rotate --force\n',
    )
  },
}

interface Peer {
  readonly id: string
  readonly name: string
  readonly advertised?: readonly string[]
}

/** The peer that was typed, by its id or its name. Throws `peer_not_found`. */
async function peerNamed({ typed, call, list, failure, usage }: CommandHost): Promise<Peer> {
  const name = String(typed.peer)
  // As the routes document it.
  if (ID.test(name)) return (await call('GET /v1/peers/{id}', { path: { id: name } })) as unknown as Peer
  const { rows } = await list('GET /v1/peers', 'peers', ALL)
  const [one, other] = rows.filter((row) => row.name === name) as unknown as readonly Peer[]
  if (one === undefined) throw failure('peer_not_found', `there is no peer ${name}; svc peer list shows them`)
  if (other !== undefined)
    throw usage(`several peers are called ${name}; name one by its id, svc peer list shows it`)
  return one
}

/** A key never stands on the command line, where other users see it. */
async function secretIn({ failure }: CommandHost, file: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).trim()
  } catch (error) {
    throw failure('cannot_read', `${file}: ${messageOf(error)}`)
  }
}

interface FoundSims {
  readonly sims: readonly object[]
  readonly is_more: boolean
  readonly asked: number
  readonly unanswered: readonly { readonly box: string; readonly problem: string }[]
}

/** What it says of its mesh. */
interface Joined {
  readonly mesh: { readonly name: string }
}

/** `svc mesh invite|find|take-root`, `svc node join|leave`, `svc peer …` */
export const commands: Commands = {
  ...peerCommands,
  'mesh invite': async (host) => {
    const { name, expiresIn: expires_in, nodeId: node_id } = host.typed
    const data = await host.call('POST /v1/mesh/invite', { body: { name, expires_in, node_id } })
    if (host.isJson) return host.printRecord(data)
    const { command, ...known } = data
    const text = host.printable(String(command))
    host.out(host.fields(named(known)))
    host.out(`\nOn the other box:\n  ${text}\n\n${await host.qr(text)}`)
    host.err('The token works once. Compare the words of ca_words with what the other box shows.\n')
  },
  'mesh find': async (host) => {
    const { text: q, limit } = host.typed
    const data = await host.call('POST /v1/mesh/sims/find', { body: { q, limit } })
    if (host.isJson) return host.printRecord(data)
    const { sims, is_more: isMore, asked, unanswered } = data as unknown as FoundSims
    host.out(
      host.table(sims, [
        { title: 'SIM', value: 'imsi_sha256_12', fit: 'whole' },
        'label',
        'box',
        'state',
        { title: 'CARD', value: 'iccid_last4' },
      ]),
    )
    if (isMore) host.err(`Only the first ${sims.length} are shown; --limit shows more.\n`)
    if (unanswered.length === 0) return
    host.err(`${unanswered.length} of ${asked} boxes did not answer:\n`)
    for (const { box, problem } of unanswered) host.err(`${host.printable(`  ${box}: ${problem}`)}\n`)
  },
  'mesh take-root': async (host) => {
    const data = await host.call('POST /v1/mesh/take-root', { body: { force: host.typed.force } })
    if (host.isJson) return host.printRecord(data)
    const { invitations, ...known } = data
    host.out(host.fields(named(known)))
    for (const { name, command } of invitations as readonly Readonly<Record<string, string>>[])
      host.out(`\nOn ${host.printable(name ?? '')}:\n  ${host.printable(command ?? '')}\n`)
    host.err(
      'Each works once. For a box that is late, or was not known here: svc mesh invite, and svc node join with --leave.\n',
    )
  },
  'node join': async (host) => {
    const { token: given, root: url, name, address, leave } = host.typed
    if (given !== '-')
      host.err('svc: warning: the token is visible in the process list; give - and it on standard input\n')
    const token = given === '-' ? (await host.input()).trim() : given
    const data = await host.call('POST /v1/mesh/join', { body: { token, url, name, address, leave } })
    host.printRecord(host.isJson ? data : named(data))
    host.err(
      'Over TLS this box shows the certificate of the mesh from now on. Clients that trusted the CA of this box must trust the CA of the root instead (--ca or SVC_CA; keys/mesh/ca.pem of this box).\n',
    )
  },
  'node leave': async (host) => {
    const { node_id } = await host.call('GET /v1/status')
    const data = await host.call('POST /v1/nodes/{id}/leave', { path: { id: String(node_id) } })
    host.printRecord(data)
    if (data.root_told === false)
      host.err('The root could not be reached. Remove this node there, too: svc node remove ID\n')
  },
}

/** With the name of the mesh in the place of all that is known of it. */
function named(data: Awaited<ReturnType<CommandHost['call']>>): object {
  return { ...data, mesh: (data as unknown as Joined).mesh.name }
}
