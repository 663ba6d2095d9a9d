import {
  type ComponentHealth,
  type Context,
  type Instance,
  type Plugin,
  pageRoutes,
} from '@steeple/contracts'
import { backhaul } from './backhaul/backhaul.ts'
import { BACKHAUL_TABLES } from './backhaul/store.ts'
import { BREAKOUT_TABLES, breakout } from './breakout/breakout.ts'
import type { PeeringConfig } from './config.ts'
import { DISCOVERY_TABLES, discovery } from './discovery/discovery.ts'
import { ENROLLMENT_TABLES, enrollment } from './enroll/enrollment.ts'
import type { MeshPart } from './part.ts'
import { PEERS_TABLES, peers } from './peers/peers.ts'

/** In the order in which they came: ids of migrations grow from part to part (00…, 01…, 02…, 03…, 04…). */
const TABLES = [ENROLLMENT_TABLES, PEERS_TABLES, DISCOVERY_TABLES, BREAKOUT_TABLES, BACKHAUL_TABLES]

/** A mesh of boxes: who belongs to it, and the links between them. */
export const plugin: Plugin<PeeringConfig> = {
  // What makes WireGuard links.
  doctor: ({ config }) => (config.enabled ? [{ capability: 'CAP_NET_ADMIN', why: 'peering.enabled' }] : []),
  migrations: TABLES.flatMap(({ migrations }) => migrations),
  tables: TABLES.flatMap(({ tables }) => tables),
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
function together(parts: readonly MeshPart[]): Instance {
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
