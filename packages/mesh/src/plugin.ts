import {
  type ComponentHealth,
  type Context,
  type Instance,
  type Plugin,
  pageRoutes,
} from '@steeple/contracts'
import { backhaul } from './backhaul/backhaul.ts'
import { BACKHAUL_MIGRATIONS, MONTHS, UPLINKS } from './backhaul/store.ts'
import { breakout } from './breakout/breakout.ts'
import type { PeeringConfig } from './config.ts'
import { discovery } from './discovery/discovery.ts'
import { enrollment } from './enroll/enrollment.ts'
import { CERTIFICATES, MEMBERS, MIGRATIONS, NOTES } from './enroll/store.ts'
import { PEER_MIGRATIONS, PEERS } from './peers/peer-store.ts'
import { peers } from './peers/peers.ts'

/** A mesh of boxes: who belongs to it, and the links between them. */
export const plugin: Plugin<PeeringConfig> = {
  // What makes WireGuard links.
  doctor: ({ config }) => (config.enabled ? [{ capability: 'CAP_NET_ADMIN', why: 'peering.enabled' }] : []),
  migrations: [...MIGRATIONS, ...PEER_MIGRATIONS, ...BACKHAUL_MIGRATIONS],
  tables: [MEMBERS, CERTIFICATES, NOTES, PEERS, UPLINKS, MONTHS],
  setup: async (context: Context<PeeringConfig>): Promise<Instance> => {
    const belonging = await enrollment(context)
    const { members } = belonging
    const heard = await discovery(context, members)
    const linked = await peers(context, members, heard.suggestions)
    const { links } = linked
    return together([
      belonging.part,
      heard.part,
      linked.part,
      await breakout(context, members, links),
      await backhaul(context, links),
    ])
  },
}

/** Starts in order, stops in the opposite one. */
function together(parts: readonly Instance[]): Instance {
  const backwards = [...parts].reverse()
  const health = async (): Promise<readonly ComponentHealth[]> =>
    (await Promise.all(parts.map((part) => part.health?.() ?? []))).flat()
  return {
    routes: [...parts.flatMap(({ routes = [] }) => routes), ...pageRoutes(import.meta.url, '/mesh-files')],
    reconcilers: parts.flatMap(({ reconcilers = [] }) => reconcilers),
    services: new Map(parts.flatMap(({ services }) => [...(services ?? [])])),
    start: async () => {
      for (const part of parts) await part.start?.()
    },
    health,
    quiesce: async (why) => {
      for (const part of backwards) await part.quiesce?.(why)
    },
    stop: async (why) => {
      for (const part of backwards) await part.stop?.(why)
    },
  }
}
