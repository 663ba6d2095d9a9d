import type { Links } from '../links.ts'
import type { PeersParts } from './parts.ts'

/** What breakout and the lifecycle see of the links. */
export function linksOf({ context, board }: PeersParts): Links {
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
    onChange: board.onChange,
  }
}
