import type { Links } from '../links.ts'
import { contains, parseCidr } from './cidr.ts'
import type { PeersParts } from './parts.ts'

/** What breakout and the lifecycle see of the links. */
export function linksOf({ context, board, members }: PeersParts): Links {
  return {
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
