import { type ImsiHash, usageLedgerRef } from '@steeple/contracts'
import type { RoamingParts } from '../parts.ts'
import { type BoxRow, LEASES, type LeaseRow } from '../store.ts'
import type { VisitUsage } from '../wire.ts'
import { BY } from './plan.ts'

/** Octets of a visit that were not counted yet; a visit that has begun again counts from nothing. */
function growth(row: LeaseRow, told: VisitUsage): { readonly up: number; readonly down: number } {
  const isSame = row.visit === told.visit
  return {
    up: Math.max(0, told.up_bytes - (isSame ? row.up_bytes : 0)),
    down: Math.max(0, told.down_bytes - (isSame ? row.down_bytes : 0)),
  }
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
  for (const told of usage) {
    const row = await LEASES.find(context.db, { hash: told.imsi_sha256_12, node_id })
    if (row !== undefined && sum(growth(row, told)) > 0) grown.push(told)
  }
  if (grown.length === 0) return
  await context.mutate(BY, 'roaming.usage', node_id, async (tx) => {
    for (const told of grown) {
      const row = await LEASES.find(tx, { hash: told.imsi_sha256_12, node_id })
      if (row === undefined) continue
      const { up, down } = growth(row, told)
      const before = row.visit === told.visit ? row : { up_bytes: 0, down_bytes: 0 }
      const up_bytes = Math.max(before.up_bytes, told.up_bytes)
      const down_bytes = Math.max(before.down_bytes, told.down_bytes)
      await LEASES.put(tx, { ...row, visit: told.visit, up_bytes, down_bytes })
      const totals = { upBytes: up, downBytes: down, isIncomplete: false }
      // A hash of the store is one.
      await ledger.submit(tx, row.hash as ImsiHash, `submission:${name}`, totals, context.clock.nowMs())
    }
    tx.audit({ detail: { sims: grown.map(({ imsi_sha256_12: hash }) => hash) } })
  })
}

function sum({ up, down }: { readonly up: number; readonly down: number }): number {
  return up + down
}
