import { type ImsiHash, sumOctets, usageLedgerRef } from '@steeple/contracts'
import { type RoamingParts, VISITOR_RESOURCE } from '../parts.ts'
import { ENDED, type EndedRow, limitedVisitors, VISITORS, type VisitorRow, visitorsAfter } from '../store.ts'
import { USAGE_AT_ONCE, type VisitUsage } from '../wire.ts'

/** The ledger is read from so long before a visit: a clock that is set back in it dates what is used then before it has begun. */
const BEFORE_MS = 86_400_000
const FOREVER_MS = Number.MAX_SAFE_INTEGER
/** Collectors have told by then what was used until the end of a visit. */
const SETTLED_MS = 120_000

interface Octets {
  readonly upBytes: number
  readonly downBytes: number
}

async function ledgerOf({ context }: RoamingParts, hash: string, sinceMs: number): Promise<Octets> {
  // A hash of the store is one.
  const totals = await context
    .maybe(usageLedgerRef)
    ?.totals(hash as ImsiHash, sinceMs - BEFORE_MS, FOREVER_MS)
  return totals ?? { upBytes: 0, downBytes: 0 }
}

/** What the ledger has of a SIM already: none of it is of a visit that begins. */
export async function baseOf(
  parts: RoamingParts,
  hash: string,
): Promise<Pick<VisitorRow, 'base_up_bytes' | 'base_down_bytes'>> {
  const { upBytes, downBytes } = await ledgerOf(parts, hash, parts.context.clock.nowMs())
  return { base_up_bytes: upBytes, base_down_bytes: downBytes }
}

/** What a visitor has used in its visit. */
async function usedBy(
  parts: RoamingParts,
  row: Omit<EndedRow, 'home_id' | 'visit' | 'ended_at_ms'>,
): Promise<Octets> {
  const { upBytes, downBytes } = await ledgerOf(parts, row.hash, row.since_ms)
  return {
    upBytes: Math.max(0, upBytes - row.base_up_bytes),
    downBytes: Math.max(0, downBytes - row.base_down_bytes),
  }
}

/** What the visitors of a home have used here since each came, as totals; of visits that have ended until the home has counted them. */
export async function usageOfVisits(parts: RoamingParts, home: string): Promise<readonly VisitUsage[]> {
  const { db, clock } = parts.context
  const usage: VisitUsage[] = []
  const add = async (row: Omit<EndedRow, 'ended_at_ms'>, is_over: boolean): Promise<void> => {
    const { upBytes: up_bytes, downBytes: down_bytes } = await usedBy(parts, row)
    const { hash, visit } = row
    if (is_over || up_bytes + down_bytes > 0)
      usage.push({ imsi_sha256_12: hash, visit, up_bytes, down_bytes, is_over })
  }
  const ended = { home, limit: USAGE_AT_ONCE }
  for (const row of await ENDED.select(db, 'where home_id = :home order by ended_at_ms limit :limit', ended))
    await add(row, clock.nowMs() - row.ended_at_ms >= SETTLED_MS)
  const params = { after: '', limit: USAGE_AT_ONCE, home }
  for (const row of await visitorsAfter(db, params)) await add(row, false)
  return usage
}

/** Blocks visitors that have used their share of a quota, and lets on those that have more again. */
export async function holdToShares(parts: RoamingParts): Promise<void> {
  const { context } = parts
  for (const row of await limitedVisitors(context.db)) {
    const { upBytes, downBytes } = await usedBy(parts, row)
    const used = sumOctets(upBytes, downBytes)
    const isOver = (limit: number | null): number => (limit !== null && used >= limit ? 1 : 0)
    if (isOver(row.limit_bytes) === row.is_over) continue
    await context.db.write(async (tx) => {
      const now = await VISITORS.find(tx, { hash: row.hash })
      if (now !== undefined) await VISITORS.put(tx, { ...now, is_over: isOver(now.limit_bytes) })
    })
    context.enqueue(VISITOR_RESOURCE, row.hash, true)
  }
}
