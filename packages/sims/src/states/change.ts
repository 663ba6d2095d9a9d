import {
  type ImsiHash,
  type MutationTx,
  moveRecorderRef,
  quotaKeeperRef,
  type RecordedSimMove,
  simNotFound,
  simStateConflict,
  type Tx,
} from '@steeple/contracts'
import { SIM_RESOURCE, type SimsParts } from '../parts.ts'
import { SIMS, type SimRow } from '../store/sim-row.ts'
import { moved, type SimAction, type SuspendReason, wantedInHss } from './machine.ts'

/** One move of one SIM. */
export interface Change {
  readonly action: SimAction
  readonly reason?: SuspendReason
  /** Of a resume: `override` lifts a suspension by quota although the quota is used up, `keeper` knows of quotas itself. */
  readonly lift?: 'override' | 'keeper'
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
export async function changeSim(
  parts: SimsParts,
  tx: MutationTx,
  hash: string,
  change: Change,
): Promise<Changed> {
  const before = await SIMS.find(tx, { hash })
  if (before === undefined) throw simNotFound(hash)
  const standing = moved(before, change.action, change.reason)
  if (standing === undefined)
    throw simStateConflict(`the SIM ${hash} is ${before.state}; it cannot ${WORDS[change.action]}`)
  if (standing === before) return { before, after: before }
  if (change.action === 'resume' && change.lift !== 'keeper') await askKeeper(parts, tx, before, change)
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
  await noteMoves(parts, tx, [{ before, after }])
  const isUrgent = wantedInHss(after.state) !== 'open'
  if (isHeard) tx.dirty(SIM_RESOURCE, hash, isUrgent)
  return { before, after }
}

/** A SIM that is another one after a change; `before` is undefined for a new SIM. */
interface Moved {
  readonly before: SimRow | undefined
  readonly after: SimRow
}

/** Has moves written down where somebody keeps a record; once their transaction is durable, they count and are told. */
export async function noteMoves(parts: SimsParts, tx: Tx, all: readonly Moved[]): Promise<void> {
  await parts.context.maybe(moveRecorderRef)?.simsMoved(
    tx,
    all.map(({ before, after }) => ({ ...recordedState(after), from: before?.state })),
  )
  tx.afterCommit(() => {
    for (const { before, after } of all) {
      if (before?.state === after.state) continue
      parts.counters.moved(before?.state, after.state)
      parts.moves.add({ imsi: after.hash, from: before?.state, to: after.state })
    }
  })
}

/** A SIM as records have it. */
export function recordedState(
  row: Pick<SimRow, 'hash' | 'state' | 'suspend_reason'>,
): Omit<RecordedSimMove, 'from'> {
  return {
    // A hash of the store is one.
    imsi: row.hash as ImsiHash,
    to: row.state,
    reason: row.state === 'suspended' ? (row.suspend_reason ?? undefined) : undefined,
  }
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
  unexpire: 'come back from its expiry',
  revoke: 'be revoked',
}

/** A quota that is used up keeps off whom it has suspended. */
async function askKeeper(
  { context }: SimsParts,
  tx: MutationTx,
  row: SimRow,
  { lift }: Change,
): Promise<void> {
  // A hash of the store is one.
  const isKeptOff = await context
    .maybe(quotaKeeperRef)
    ?.keepsOff(tx, row.hash as ImsiHash, lift === 'override')
  if (isKeptOff !== true || row.suspend_reason !== 'quota') return
  throw simStateConflict(
    `the SIM ${row.hash} has used up its quota; raise it, wait for the next period, or resume with override: true`,
  )
}
