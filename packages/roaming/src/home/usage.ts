import { type ImsiHash, type Reader, usageLedgerRef } from '@steeple/contracts'
import type { RoamingParts } from '../parts.ts'
import { type BoxRow, COUNTS, LEASES } from '../store.ts'
import type { VisitUsage } from '../wire.ts'
import { BY } from './plan.ts'

/** What of a visit was not counted yet; undefined where that is nothing, and of a SIM that never had a lease there. */
async function growthOf(
  reader: Reader,
  node_id: string,
  { imsi_sha256_12: hash, visit, up_bytes, down_bytes, is_over }: VisitUsage,
): Promise<{ readonly up: number; readonly down: number } | undefined> {
  if ((await LEASES.find(reader, { hash, node_id })) === undefined) return undefined
  const counted = await COUNTS.find(reader, { node_id, visit })
  if (counted !== undefined && counted.hash !== hash) return undefined
  const up = Math.max(0, up_bytes - (counted?.up_bytes ?? 0))
  const down = Math.max(0, down_bytes - (counted?.down_bytes ?? 0))
  const isNews = up + down > 0 || (is_over && counted?.is_over !== 1)
  return isNews ? { up, down } : undefined
}

/** Counts what visitors have used, with how far it was counted, in one transaction: once, however often it is told. */
export async function bookUsage(
  { context }: RoamingParts,
  { node_id, name }: Pick<BoxRow, 'node_id' | 'name'>,
  usage: readonly VisitUsage[],
): Promise<void> {
  const ledger = context.maybe(usageLedgerRef)
  if (ledger === undefined) return
  const grown: VisitUsage[] = []
  for (const told of usage) if ((await growthOf(context.db, node_id, told)) !== undefined) grown.push(told)
  if (grown.length === 0) return
  await context.mutate(BY, 'roaming.usage', node_id, async (tx) => {
    for (const told of grown) {
      const { imsi_sha256_12: hash, visit } = told
      const lease = await LEASES.find(tx, { hash, node_id })
      const growth = await growthOf(tx, node_id, told)
      if (lease === undefined || growth === undefined) continue
      const { up, down } = growth
      const before = await COUNTS.find(tx, { node_id, visit })
      await COUNTS.put(tx, {
        ...{ node_id, visit, hash, is_over: told.is_over ? 1 : 0 },
        up_bytes: (before?.up_bytes ?? 0) + up,
        down_bytes: (before?.down_bytes ?? 0) + down,
      })
      const [up_bytes, down_bytes] = [lease.up_bytes + up, lease.down_bytes + down]
      await LEASES.put(tx, { ...lease, visit, up_bytes, down_bytes })
      const totals = { upBytes: up, downBytes: down, isIncomplete: false }
      // A hash of the store is one.
      if (up + down > 0)
        await ledger.submit(tx, hash as ImsiHash, `visit:${name}`, totals, context.clock.nowMs())
    }
    tx.audit({ detail: { sims: grown.map(({ imsi_sha256_12: hash }) => hash) } })
  })
}
