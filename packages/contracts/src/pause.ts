import { setImmediate as nextTurn } from 'node:timers/promises'

/** How long work goes on in one turn of the event loop, ms. */
const TURN_MS = 6

/** Gives others a turn when this work has had its own; call it between small pieces. */
export type Pause = () => Promise<void> | undefined

/** A pause for one piece of work. It waits only when the turn is used up. */
export function createPause(): Pause {
  let since = performance.now()
  return () => {
    if (performance.now() - since < TURN_MS) return undefined
    return nextTurn().then(() => {
      since = performance.now()
    })
  }
}
