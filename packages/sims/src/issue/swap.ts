import {
  type MutationTx,
  type Principal,
  policyRef,
  simNotFound,
  simStateConflict,
  simSwapCooldown,
} from '@steeple/contracts'
import type { SimsParts } from '../parts.ts'
import { changeSim } from '../states/change.ts'
import { BATCHES } from '../store/batch-store.ts'
import { SIMS, type SimRow } from '../store/sim-row.ts'

const HOUR_MS = 3_600_000
/** Specification, Limits: the cool-down while no policy is loaded. */
const DEFAULT_COOLDOWN_HOURS = 24

/**
 * Revokes the SIM whose place another takes, in the transaction that adds the other.
 * Throws `sim_not_found`, `sim_state_conflict` when it is revoked already, `sim_swap_cooldown`.
 */
export async function swapOut(parts: SimsParts, tx: MutationTx, hash: string): Promise<void> {
  const row = await SIMS.find(tx, { hash })
  if (row === undefined) throw simNotFound(hash)
  if (row.state === 'revoked') throw simStateConflict(`the SIM ${hash} is revoked; it cannot be replaced`)
  const hours = parts.context.maybe(policyRef)?.bundle().sim_swap_cooldown_hours ?? DEFAULT_COOLDOWN_HOURS
  const untilMs = (row.swapped_at_ms ?? Number.NEGATIVE_INFINITY) + hours * HOUR_MS
  if (untilMs > parts.context.clock.nowMs()) {
    const until = new Date(untilMs).toISOString()
    throw simSwapCooldown(
      `the subscriber of SIM ${hash} got it by a swap less than ${hours} h ago; the next swap is possible at ${until} (policy sim_swap_cooldown_hours)`,
    )
  }
  await changeSim(parts, tx, hash, { action: 'revoke' })
}

/** Who issues, as a batch remembers it. */
export function issuerOf({ kind, id }: Principal): string {
  return `${kind}:${id}`
}

/**
 * Whether somebody may take a SIM out of service by replacing it: it is a revocation and needs the role of one, except
 * for a misprint at the desk, which is a SIM that the same principal has issued within the last hour.
 */
export async function mayReplace(
  { context }: SimsParts,
  principal: Principal,
  replaced: SimRow,
): Promise<boolean> {
  if (principal.roles.has('sim:admin')) return true
  if (replaced.batch_id === null || replaced.issued_at_ms <= context.clock.nowMs() - HOUR_MS) return false
  const batch = await BATCHES.find(context.db, { id: replaced.batch_id })
  return batch?.issued_by === issuerOf(principal)
}
