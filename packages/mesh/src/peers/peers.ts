import type { Context } from '@steeple/contracts'
import type { PeeringConfig } from '../config.ts'
import type { Members } from '../members.ts'
import type { MeshPart, PartTables } from '../part.ts'

export const PEERS_TABLES: PartTables = { migrations: [], tables: [] }

/** Links to other boxes over WireGuard. */
export async function peers(_context: Context<PeeringConfig>, _members: Members): Promise<MeshPart> {
  return {}
}
