import type { Context } from '@steeple/contracts'
import type { PeeringConfig } from '../config.ts'
import type { Members } from '../members.ts'
import type { MeshPart, PartTables } from '../part.ts'

export const ENROLLMENT_TABLES: PartTables = { migrations: [], tables: [] }

/** Who belongs to the mesh: enrollment, certificates, revocation, heartbeats. */
export async function enrollment(
  _context: Context<PeeringConfig>,
): Promise<{ readonly part: MeshPart; readonly members: Members }> {
  const members: Members = {
    overlay: () => undefined,
    list: () => [],
    publish: async () => {},
    onChange: () => () => {},
  }
  return { part: {}, members }
}
