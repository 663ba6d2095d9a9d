import type { Outcome, Reconciler } from '@steeple/contracts'
import type { RadioSnapshot } from './supervisor/radio-state.ts'
import type { Supervisor } from './supervisor/supervisor.ts'

/** The reconciler of the radio and its one key: this node's. */
export const RADIO_RESOURCE = 'radio'
export const RADIO_KEY = 'own'

/** What could put it on air is told at once; this is the net below. */
const RESYNC_MS = 60_000
/** A radio that is, or should be, on air is watched this closely: that it makes progress, and that the gate permits it. */
const WATCH_MS = 1_000
const STEP_BOUND_MS = 30_000
/** A growing back-off is no measure for a radio on air. */
const BACKOFF = { firstMs: 1_000, longestMs: 1_000 }

/**
 * Keeps the radio as the gate wants it, and shows what it has become. Without a configured one there is only what an earlier
 * run may have left.
 */
export function radioReconciler(
  supervisor: Pick<Supervisor, 'step' | 'sweep' | 'snapshot'>,
  isConfigured: boolean,
  show: (snapshot: RadioSnapshot) => void,
): Reconciler {
  return {
    resource: RADIO_RESOURCE,
    runs: 'machine',
    resyncMs: RESYNC_MS,
    timeoutMs: STEP_BOUND_MS,
    backoff: BACKOFF,
    keys: async () => [RADIO_KEY],
    reconcile: async (): Promise<Outcome> => {
      let outcome: Outcome = { state: 'converged' }
      try {
        if (isConfigured) outcome = await supervisor.step()
        else await supervisor.sweep()
      } finally {
        show(supervisor.snapshot())
      }
      const { desired, running } = supervisor.snapshot()
      const isWatched = isConfigured && (running !== undefined || desired?.isOn === true)
      return outcome.state === 'converged' && isWatched
        ? { state: 'pending', afterMs: WATCH_MS, reason: 'the radio is watched' }
        : outcome
    },
  }
}
