import type { Context } from '@steeple/contracts'
import type { PeeringConfig } from '../config.ts'
import type { Links } from '../links.ts'
import type { Members } from '../members.ts'
import type { MeshPart, PartTables } from '../part.ts'

export const BREAKOUT_TABLES: PartTables = { migrations: [], tables: [] }

/** Lets phones of this box, and of its peers, out to the internet here. */
export async function breakout(
  _context: Context<PeeringConfig>,
  _members: Members,
  _links: Links,
): Promise<MeshPart> {
  return {}
}
