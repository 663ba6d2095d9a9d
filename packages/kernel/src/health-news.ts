import { type Clock, type ComponentState, stateTeller } from '@steeple/contracts'
import type { Mutations } from './mutation/mutations.ts'

/** The event that says how a component is now. */
const TYPES: Readonly<Record<string, string>> = {
  ok: 'health.ok',
  degraded: 'health.degraded',
  down: 'health.down',
}

/**
 * Tells of components that change their status, in the stream of events: `health.down` with the name of the component. One that was never
 * told of was well. While the store takes no events they wait.
 */
export function healthNews(
  clock: Clock,
  mutations: Pick<Mutations, 'observe'>,
): (states: ReadonlyMap<string, ComponentState['status']>) => void {
  const tell = stateTeller(clock, 'ok', (changes) =>
    mutations.observe('kernel', async (tx) => {
      for (const { key, state, was } of changes)
        tx.event({ type: TYPES[state] ?? 'health.degraded', subject: key, data: { status: state, was } })
    }),
  )
  return (states) => void tell(states)
}
