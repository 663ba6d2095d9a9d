import { type ImsiHash, quotaKeeperRef, type Tx } from '@steeple/contracts'
import type { SimsParts } from './parts.ts'
import type { ShownSim } from './store/sim-row.ts'

/** Rows with what counts against their quotas, as the keeper of quotas has it; 0 without a quota or a keeper. */
export async function withUsage<Row extends ShownSim>(
  { context }: SimsParts,
  rows: readonly Row[],
  tx?: Tx,
): Promise<readonly Row[]> {
  const keeper = context.maybe(quotaKeeperRef)
  const limited = rows.filter(({ quota_bytes }) => quota_bytes !== null)
  if (keeper === undefined || limited.length === 0) return rows
  // Hashes of rows are hashes.
  const used: ReadonlyMap<string, number> = await keeper.used(
    limited.map(({ hash }) => hash as ImsiHash),
    tx,
  )
  return rows.map((row) => ({ ...row, usage_bytes: used.get(row.hash) ?? 0 }))
}

/** The same of one row. */
export async function oneWithUsage<Row extends ShownSim>(parts: SimsParts, row: Row, tx?: Tx): Promise<Row> {
  const [found = row] = await withUsage(parts, [row], tx)
  return found
}
