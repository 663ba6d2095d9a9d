import type { Context } from '@steeple/contracts'
import type { PeeringConfig } from '../config.ts'
import type { Links } from '../links.ts'
import type { Members } from '../members.ts'
import type { MeshPart, PartTables } from '../part.ts'
import type { Suggestions } from '../suggestions.ts'

export const PEERS_TABLES: PartTables = { migrations: [], tables: [] }

/** Links to other boxes over WireGuard. */
export async function peers(
  _context: Context<PeeringConfig>,
  _members: Members,
  _suggestions: Suggestions,
): Promise<{ readonly part: MeshPart; readonly links: Links }> {
  const links: Links = {
    device: () => undefined,
    active: () => 0,
    hasRoutes: () => false,
    wayOut: () => undefined,
    offered: () => [],
    onChange: () => () => {},
  }
  return { part: {}, links }
}
