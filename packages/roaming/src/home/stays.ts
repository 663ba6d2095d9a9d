import type { Tx } from '@steeple/contracts'
import { PLAN_RESOURCE, type RoamingParts } from '../parts.ts'
import { type BoxRow, CALLS, changeBox, idleCalls, LEASES, STAYS } from '../store.ts'
import type { ToldStay } from '../wire.ts'
import { leaseMs } from './plan.ts'

/** A lease on demand is held for so long at least after its phone was seen: visited boxes tell of that once a minute. */
const LEAST_IDLE_MS = 120_000
const CHUNK = 200

/** Keeps where SIMs of this box have been, with how far it was told, in one transaction. */
export async function keepStays(
  parts: RoamingParts,
  box: Pick<BoxRow, 'node_id' | 'name'>,
  stays: readonly ToldStay[],
): Promise<void> {
  if (stays.length === 0) return
  await parts.context.db.write(async (tx) => {
    for (const stay of stays) await keepOne(parts, tx, box, stay)
    await changeBox(tx, box, { stays_after: Math.max(...stays.map(({ revision }) => revision)) })
  })
}

async function keepOne(
  { context, node }: RoamingParts,
  tx: Tx,
  { node_id, name: node_name }: Pick<BoxRow, 'node_id' | 'name'>,
  { revision, id, imsi_sha256_12: hash, began_ago_s, seen_ago_s, is_over }: ToldStay,
): Promise<void> {
  // Of a SIM that never had a lease there, or is erased.
  if ((await LEASES.find(tx, { hash, node_id })) === undefined) return
  const before = await STAYS.find(tx, { node_id, id })
  if (before !== undefined && before.hash !== hash) return
  const nowMs = context.clock.nowMs()
  const began_at_ms = before?.began_at_ms ?? nowMs - began_ago_s * 1_000
  const seen_at_ms = Math.max(began_at_ms, nowMs - seen_ago_s * 1_000)
  const home = { home_id: node.nodeId, home_name: node.name }
  const times = { began_at_ms, seen_at_ms, is_over: is_over ? 1 : 0, revision }
  await STAYS.put(tx, { node_id, id, node_name, ...home, hash, ...times })
  const call = await CALLS.find(tx, { hash, node_id })
  if (call !== undefined && call.at_ms < seen_at_ms) await CALLS.put(tx, { ...call, at_ms: seen_at_ms })
}

/** Ends leases on demand that nobody uses: the call that they go by is forgotten once their phone was away for a lease. */
export async function endIdle({ context }: RoamingParts): Promise<void> {
  const before = context.clock.nowMs() - Math.max(LEAST_IDLE_MS, leaseMs(context.config.lease))
  const idle = await idleCalls(context.db, before, CHUNK)
  if (idle.length === 0) return
  await context.db.write(async (tx) => {
    for (const { hash, node_id, at_ms } of idle) {
      const now = await CALLS.find(tx, { hash, node_id })
      if (now?.at_ms === at_ms) await CALLS.remove(tx, { hash, node_id })
    }
  })
  for (const { hash } of idle) context.enqueue(PLAN_RESOURCE, hash)
}
