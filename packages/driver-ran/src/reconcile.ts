import type { Outcome, Reconciler } from '@steeple/contracts'
import type { Supervisor } from './supervisor/supervisor.ts'

/** The reconciler of the radio and its one key: this node's. */
export const RADIO_RESOURCE = 'radio'
export const RADIO_KEY = 'own'

/** The gate tells nobody that it has opened, so it is asked this often. */
const RESYNC_MS = 1_000
const STEP_BOUND_MS = 30_000

/** Keeps the radio as the gate wants it. Without a configured one there is only what an earlier run may have left. */
export function radioReconciler(
  supervisor: Pick<Supervisor, 'step' | 'sweep'>,
  isConfigured: boolean,
): Reconciler {
  const step = async (): Promise<Outcome> => {
    if (isConfigured) return await supervisor.step()
    await supervisor.sweep()
    return { state: 'converged' }
  }
  return {
    resource: RADIO_RESOURCE,
    resyncMs: isConfigured ? RESYNC_MS : 60_000,
    timeoutMs: STEP_BOUND_MS,
    keys: async () => [RADIO_KEY],
    reconcile: async (keys) => {
      const outcome = await step()
      return new Map(keys.map((key) => [key, outcome]))
    },
  }
}
