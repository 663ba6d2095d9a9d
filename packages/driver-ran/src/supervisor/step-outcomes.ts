import type { Outcome } from '@steeple/contracts'

/** Nothing is missing. */
export const CONVERGED: Outcome = { state: 'converged' }
/** What was asked for has changed on the way. */
export const AGAIN: Outcome = { state: 'pending', afterMs: 50, reason: 'what is asked for has changed' }
/** Another copy of the plugin does it. */
export const STILL: Outcome = {
  state: 'pending',
  afterMs: 1_000,
  reason: 'the plugin is about to be reloaded',
}
