import type { Links } from '../links.ts'
import { contains, isIn, parseCidr } from './cidr.ts'
import type { PeersParts } from './parts.ts'
import { listOf, PEERS } from './peer-store.ts'

/** What breakout and the lifecycle see of the links. */
export function linksOf({ context, board, members }: PeersParts): Links {
  return {
    // By what is stored: another instance may have the links.
    carries: async (nodeId, address) => {
      const rows = await PEERS.select(context.db, 'where node_id = :node_id and removed_at_ms is null', {
        node_id: nodeId,
      })
      return rows.some((row) => {
        const advertised = listOf(row.advertised)
        return listOf(row.approved).some(
          (cidr) => advertised.includes(cidr) && !cidr.endsWith('/0') && isIn(cidr, address),
        )
      })
    },
    device: () => (board.isUp ? context.config.interface : undefined),
    active: () => (board.isUp ? board.active.size : 0),
    hasRoutes: () => board.isUp && [...board.serving.values()].some((routes) => routes.length > 0),
    wayOut: () => {
      const found = [...board.serving].find(
        ([id, routes]) => board.active.has(id) && routes.includes('0.0.0.0/0'),
      )
      return found === undefined
        ? undefined
        : { peerId: found[0], name: board.names.get(found[0]) ?? found[0] }
    },
    offered: () => context.config.advertise,
    direct: (pools) => {
      const all = members.list()
      const own = all.find(({ isSelf }) => isSelf)?.nodeId ?? ''
      const takesAll = (peerId: string): boolean => {
        const member = all.find(({ nodeId }) => nodeId === board.nodes.get(peerId))
        const taken = (member?.wireguard?.takes ?? []).flatMap((text) => {
          const [nodeId, cidr = ''] = text.split(' ')
          return nodeId === own ? (parseCidr(cidr) ?? []) : []
        })
        return pools.every((pool) => {
          const network = parseCidr(pool)
          return network !== undefined && taken.some((one) => contains(one, network))
        })
      }
      return [...board.serving]
        .filter(([peerId]) => board.active.has(peerId) && takesAll(peerId))
        .flatMap(([, routes]) => routes.filter((cidr) => cidr !== '0.0.0.0/0'))
    },
    onChange: board.onChange,
  }
}
