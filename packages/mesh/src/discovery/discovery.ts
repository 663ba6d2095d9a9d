import type { Context } from '@steeple/contracts'
import type { PeeringConfig } from '../config.ts'
import type { Members } from '../members.ts'
import type { MeshPart, PartTables } from '../part.ts'

export const DISCOVERY_TABLES: PartTables = { migrations: [], tables: [] }

/** Announces this node by mDNS, and suggests those that it hears. */
export async function discovery(_context: Context<PeeringConfig>, _members: Members): Promise<MeshPart> {
  return {}
}
