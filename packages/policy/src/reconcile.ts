import type { Clock, Outcome, Reconciler } from '@steeple/contracts'
import type { Transmitters } from './tx/transmitters.ts'
import { TX_KEY, TX_RESOURCE, type TxControl } from './tx/tx-control.ts'

/** With the kernel's jitter of 10 % a full look is never more than 5 s away. */
const RESYNC_MS = 4_000
const CONVERGED: Outcome = { state: 'converged' }

/** What the reconciler tells of each pass. */
export interface GateObserver {
  armed(isArmed: boolean): void
  selfDisarmed(): void
}

/**
 * Keeps the transmitter from being armed without its legal basis, and off while it is not armed.
 *
 * - Armed and a gate is red, or the profile or the country has changed: disarms, then stops the transmitter.
 * - Disarmed and the transmitter has not confirmed that it is off: asks it again, with the kernel's backoff.
 * - Armed and the license expires soon: looks again at that very moment.
 */
export function txReconciler(
  control: TxControl,
  transmitters: Transmitters,
  clock: Clock,
  observer: GateObserver,
): Reconciler {
  const pass = async (): Promise<Outcome> => {
    const review = await control.review()
    const mustGoOff = review !== undefined && review.reasons.length > 0
    if (mustGoOff) {
      await control.disarmItself(review)
      observer.selfDisarmed()
    }
    const isArmed = review !== undefined && !mustGoOff
    observer.armed(isArmed)
    if (!isArmed && (mustGoOff || !transmitters.isOff())) await transmitters.stop()
    const untilExpiryMs = isArmed
      ? (review.expiresAtMs ?? Number.POSITIVE_INFINITY) - clock.nowMs()
      : undefined
    return untilExpiryMs !== undefined && untilExpiryMs < 2 * RESYNC_MS
      ? { state: 'pending', afterMs: Math.max(1, untilExpiryMs), reason: 'the license is about to expire' }
      : CONVERGED
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
