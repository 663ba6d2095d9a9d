import {
  type Clock,
  isServiceError,
  type Log,
  type Outcome,
  type Reconciler,
  storeCorrupt,
} from '@steeple/contracts'
import type { Transmitters } from './tx/transmitters.ts'
import { type ArmReview, TX_KEY, TX_RESOURCE, type TxControl } from './tx/tx-control.ts'

/** With the kernel's jitter of 10 % a full look is never more than 5 s away. */
const RESYNC_MS = 4_000
/** How far ahead an expiry is waited for exactly: past the latest next full look, and still within 5 s. */
const AHEAD_MS = 4_800
/** A fault is looked at again this soon: the kernel's growing backoff is no measure for a radio on air. */
const RETRY_MS = 1_000

/** What the reconciler works with. */
export interface GateParts {
  readonly control: Pick<TxControl, 'review' | 'disarmItself'>
  readonly transmitters: Transmitters
  readonly clock: Clock
  readonly log: Log
  /** Told after each pass. */
  armed(isArmed: boolean): void
  /** Told after each disarm that nobody asked for. */
  selfDisarmed(): void
}

/**
 * Keeps the transmitter from being armed without its legal basis, and off while it is not armed.
 *
 * - Armed and a gate is red, or the profile or the country has changed: disarms and stops the transmitter. It stops even
 *   when the store does not take the disarm, and when the policy cannot be read because it is corrupt.
 * - Disarmed and the transmitter has not confirmed that it is off: asks it again.
 * - Armed and the license expires soon: looks again at that very moment.
 */
export function txReconciler(parts: GateParts): Reconciler {
  let lastFault: string | undefined
  const pass = async (): Promise<Outcome> => {
    try {
      const outcome = await step(parts)
      lastFault = undefined
      return outcome
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      // One line for a fault that lasts: the health says that it still does.
      if (reason !== lastFault) parts.log.error({ err: error }, 'TX gate could not be brought into its state')
      lastFault = reason
      return { state: 'pending', afterMs: RETRY_MS, reason }
    }
  }
  return {
    resource: TX_RESOURCE,
    resyncMs: RESYNC_MS,
    timeoutMs: 30_000,
    keys: async () => [TX_KEY],
    reconcile: async (keys) => {
      const outcome = await pass()
      return new Map(keys.map((key) => [key, outcome]))
    },
  }
}

async function step(parts: GateParts): Promise<Outcome> {
  const { control, transmitters } = parts
  const review = await reviewOrStop(parts)
  if (review !== undefined && review.reasons.length === 0) {
    parts.armed(true)
    return untilExpiry(review, parts.clock)
  }
  if (review !== undefined) {
    try {
      await control.disarmItself(review)
      parts.selfDisarmed()
    } finally {
      await transmitters.stop()
    }
  } else if (!transmitters.isOff()) await transmitters.stop()
  parts.armed(false)
  return { state: 'converged' }
}

async function reviewOrStop({ control, transmitters }: GateParts): Promise<ArmReview | undefined> {
  try {
    return await control.review()
  } catch (error) {
    if (isServiceError(error) && error.code === storeCorrupt.code) await transmitters.stop()
    throw error
  }
}

function untilExpiry({ expiresAtMs }: ArmReview, clock: Clock): Outcome {
  const afterMs = (expiresAtMs ?? Number.POSITIVE_INFINITY) - clock.nowMs()
  return afterMs < AHEAD_MS
    ? { state: 'pending', afterMs: Math.max(1, afterMs), reason: 'the license is about to expire' }
    : { state: 'converged' }
}
