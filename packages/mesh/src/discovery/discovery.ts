import type { Context } from '@steeple/contracts'
import type { PeeringConfig } from '../config.ts'
import type { Members } from '../members.ts'
import type { MeshPart, PartTables } from '../part.ts'
import type { Suggestions } from '../suggestions.ts'

export const DISCOVERY_TABLES: PartTables = { migrations: [], tables: [] }

/** Announces this node by mDNS, and suggests those that it hears. */
export async function discovery(
  _context: Context<PeeringConfig>,
  _members: Members,
): Promise<{ readonly part: MeshPart; readonly suggestions: Suggestions }> {
  const suggestions: Suggestions = {
    list: () => [],
    get: () => undefined,
    confirm: async (id) => {
      throw new Error(`no suggestion ${id}`)
    },
    onChange: () => () => {},
  }
  return { part: {}, suggestions }
}
