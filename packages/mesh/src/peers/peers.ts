import { join } from 'node:path'
import { type Context, nodeIdentityRef, vaultRef } from '@steeple/contracts'
import type { PeeringConfig } from '../config.ts'
import type { Links } from '../links.ts'
import type { Members } from '../members.ts'
import type { MeshPart, PartTables } from '../part.ts'
import type { Suggestions } from '../suggestions.ts'
import type { LinkDriver } from '../wireguard/link-driver.ts'
import { systemRun } from '../wireguard/run.ts'
import { systemLink } from '../wireguard/system-link.ts'
import { createBoard } from './board.ts'
import { keyReconciler } from './key-reconciler.ts'
import { linkReconciler, takeAway } from './link-reconciler.ts'
import { linksOf } from './links-of.ts'
import { ownKey } from './own-key.ts'
import { lookSoon, type PeersParts } from './parts.ts'
import { PEER_MIGRATIONS, PEERS } from './peer-store.ts'
import { type Resolver, systemResolver } from './resolver.ts'
import { acceptRoute } from './routes/accept-route.ts'
import { approveRoute } from './routes/approve-route.ts'
import { keyRoutes } from './routes/key-routes.ts'
import { peerRoutes } from './routes/peer-routes.ts'
import { echoRounds } from './rtt.ts'
import { peerGauges, peersHealth } from './watch.ts'

const ECHO_MS = 15_000
const COUNT_MS = 15_000
const STOP_MS = 10_000

export const PEERS_TABLES: PartTables = { migrations: PEER_MIGRATIONS, tables: [PEERS] }

/** Parts that a test may give instead of the machine's. */
export interface OwnLinkParts {
  readonly driver?: LinkDriver
  readonly resolver?: Resolver
}

/** Links to other boxes over WireGuard. */
export async function peers(
  context: Context<PeeringConfig>,
  members: Members,
  suggestions: Suggestions,
  own: OwnLinkParts = {},
): Promise<{ readonly part: MeshPart; readonly links: Links }> {
  const keysDir = join(context.settings.server.data_dir, 'keys')
  const vault = context.use(vaultRef)
  vault.register({ table: PEERS.name, key: 'id', columns: ['psk_sealed'] })
  const parts: PeersParts = {
    context,
    members,
    suggestions,
    vault,
    driver:
      own.driver ??
      systemLink({
        name: context.config.interface,
        mark: `steeple ${context.use(nodeIdentityRef).nodeId}`,
        keysDir,
        run: systemRun(),
      }),
    key: ownKey(keysDir),
    resolver: own.resolver ?? systemResolver(context.clock),
    board: createBoard(context.clock),
  }
  return { part: partOf(parts), links: linksOf(parts) }
}

function partOf(parts: PeersParts): MeshPart {
  const { context, members, board } = parts
  return {
    routes: [...peerRoutes(parts), ...keyRoutes(parts), approveRoute(parts), acceptRoute(parts)],
    reconcilers: [linkReconciler(parts), keyReconciler(parts)],
    start: async () => {
      context.defer(members.onChange(() => lookSoon(parts)))
      context.every(ECHO_MS, echoRounds(parts), 'machine')
      context.every(COUNT_MS, peerGauges(parts), 'each')
    },
    stop: async (why) => {
      // A restart and an upgrade leave the tunnels to those who talk through them.
      if (why !== 'unload') return
      await takeAway(parts, AbortSignal.timeout(STOP_MS)).catch((error: unknown) =>
        context.log.warn({ err: error }, 'the WireGuard interface could not be removed'),
      )
      board.changed()
    },
    health: async () => await peersHealth(parts),
  }
}
