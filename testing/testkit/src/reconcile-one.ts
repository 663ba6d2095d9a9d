import type { Outcome, Reconciler } from '@steeple/contracts'

/** What the kernel makes of one call with one key: its outcome, converged without one, `failed` when the call throws. */
export async function reconcileOne(
  reconciler: Reconciler | undefined,
  key: string,
  signal: AbortSignal = new AbortController().signal,
): Promise<Outcome> {
  if (reconciler === undefined) throw new Error('the plugin has no such reconciler')
  try {
    const outcomes = await reconciler.reconcile([key], signal)
    return 'state' in outcomes ? outcomes : (outcomes.get(key) ?? { state: 'converged' })
  } catch (error) {
    return { state: 'failed', reason: error instanceof Error ? error.message : String(error) }
  }
}
