import type { Log, Outcome, Reconciler } from '@steeple/contracts'
import type { Supervisor } from './supervisor/supervisor.ts'

/** The reconciler of the radio and its one key: this node's. */
export const RADIO_RESOURCE = 'radio'
export const RADIO_KEY = 'own'

/** The gate tells nobody that it has opened, so it is asked this often. */
const RESYNC_MS = 1_000
const STEP_BOUND_MS = 30_000
/** A fault is looked at again this soon: the kernel's growing backoff is no measure for a radio on air. */
const RETRY_MS = 1_000

/** Keeps the radio as the gate wants it. Without a configured one there is only what an earlier run may have left. */
export function radioReconciler(
  supervisor: Pick<Supervisor, 'step' | 'sweep'>,
  isConfigured: boolean,
  log: Log,
): Reconciler {
  let lastFault: string | undefined
  const step = async (): Promise<Outcome> => {
    if (isConfigured) return await supervisor.step()
    await supervisor.sweep()
    return { state: 'converged' }
  }
  const pass = async (): Promise<Outcome> => {
    try {
      const outcome = await step()
      lastFault = undefined
      return outcome
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      // One line for a fault that lasts: the health says that it still does.
      if (reason !== lastFault) log.error({ err: error }, 'radio could not be brought into its state')
      lastFault = reason
      return { state: 'pending', afterMs: RETRY_MS, reason }
    }
  }
  return {
    resource: RADIO_RESOURCE,
    resyncMs: isConfigured ? RESYNC_MS : 60_000,
    timeoutMs: STEP_BOUND_MS,
    keys: async () => [RADIO_KEY],
    reconcile: async (keys) => {
      const outcome = await pass()
      return new Map(keys.map((key) => [key, outcome]))
    },
  }
}
