import type { SubscriberView } from '@steeple/contracts'
import type { SimStanding } from './move.ts'

/**
 * Whether the profile of a SIM may be delivered. One that is suspended may be: it is blocked in the HSS, and works as soon as
 * it is let on again. One that is revoked or gone never is.
 */
export function standingOf(view: SubscriberView | undefined): SimStanding {
  if (view === undefined || view.state === 'revoked') return 'gone'
  return view.state === 'expired' ? 'expired' : 'deliverable'
}
