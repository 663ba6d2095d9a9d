import { simNotFound, simStateConflict, type Tx } from '@steeple/contracts'
import { CUT_RESOURCE, SIM_RESOURCE, type SimsParts } from '../parts.ts'
import { SIMS, type SimRow } from '../store/sim-row.ts'
import { moved, type SimAction, type SuspendReason, wantedInHss } from './machine.ts'

/** One move of one SIM. */
export interface Change {
  readonly action: SimAction
  readonly reason?: SuspendReason
  /** Lifts a suspension by quota although the quota is still used up. */
  readonly isOverride?: boolean
}

/** The rows before and after; the same row when the move held already. */
export interface Changed {
  readonly before: SimRow
  readonly after: SimRow
}

/**
 * Moves a SIM inside a transaction: its row, the counters, and what the HSS must hear of it.
 * Throws `sim_not_found`, `sim_state_conflict`.
 */
export async function changeSim(parts: SimsParts, tx: Tx, hash: string, change: Change): Promise<Changed> {
  const before = await SIMS.find(tx, { hash })
  if (before === undefined) throw simNotFound(hash)
  const standing = moved(before, change.action, change.reason)
  if (standing === undefined)
    throw simStateConflict(`the SIM ${hash} is ${before.state}; it cannot ${WORDS[change.action]}`)
  if (standing === before) return { before, after: before }
  if (change.action === 'resume') checkQuota(before, change.isOverride === true)
  const isHeard = wantedInHss(standing.state) !== wantedInHss(before.state)
  const after: SimRow = {
    ...before,
    state: standing.state,
    previous_state: standing.previous_state,
    suspend_reason: standing.suspend_reason,
    attached_at_ms:
      change.action === 'attach'
        ? (before.attached_at_ms ?? parts.context.clock.nowMs())
        : before.attached_at_ms,
    ...(isHeard ? unsynced(before) : {}),
  }
  await SIMS.put(tx, after)
  noteMove(parts, tx, before, after)
  const resource = wantedInHss(after.state) === 'open' ? SIM_RESOURCE : CUT_RESOURCE
  if (isHeard) tx.afterCommit(() => parts.context.enqueue(resource, hash))
  return { before, after }
}

/** Once its transaction is durable, a move counts and is told; `before` is undefined for a new SIM. */
export function noteMove(parts: SimsParts, tx: Tx, before: SimRow | undefined, after: SimRow): void {
  tx.afterCommit(() => {
    if (before?.state === after.state) return
    parts.counters.moved(before?.state, after.state)
    parts.moves.add({ imsi: after.hash, from: before?.state, to: after.state })
  })
}

/** What changes in a row that the HSS must hear of. */
export function unsynced(row: SimRow): Pick<SimRow, 'generation' | 'hss_status' | 'hss_error'> {
  return { generation: row.generation + 1, hss_status: 'pending', hss_error: null }
}

const WORDS: Readonly<Record<SimAction, string>> = {
  attach: 'attach',
  suspend: 'be suspended',
  resume: 'be resumed',
  expire: 'expire',
  revoke: 'be revoked',
}

function checkQuota(row: SimRow, isOverride: boolean): void {
  const isOver = row.quota_bytes !== null && row.usage_bytes >= row.quota_bytes
  if (row.suspend_reason !== 'quota' || isOverride || !isOver) return
  throw simStateConflict(
    `the SIM ${row.hash} has used up its quota; raise it, wait for the next period, or resume with override: true`,
  )
}
