import type { CommandHost, Commands } from '@steeple/contracts'
import { peerCommands } from './peers/commands.ts'

/** What it says of its mesh. */
interface Joined {
  readonly mesh: { readonly name: string }
}

/** `svc mesh invite|take-root`, `svc node join|leave`, `svc peer …` */
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
  'mesh take-root': async (host) => {
    const data = await host.call('POST /v1/mesh/take-root', { body: { force: host.typed.force } })
    if (host.isJson) return host.printRecord(data)
    const { invitations, ...known } = data
    host.out(host.fields(named(known)))
    for (const { name, command } of invitations as readonly Readonly<Record<string, string>>[])
      host.out(`\nOn ${host.printable(name ?? '')}:\n  ${host.printable(command ?? '')}\n`)
    host.err(
      'Each works once. Whoever is late, or was not known here: svc mesh invite, and svc node join with --leave.\n',
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
      'Over TLS this box shows the certificate of the mesh from now on: whoever trusts it by its own CA trusts the CA of the root instead (--ca or SVC_CA; keys/mesh/ca.pem of this box).\n',
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
