/** Events tell of the transmitter; this is for what they could not tell of. */
const SETTLED_MS = 30_000
/** Between what it is told and what it says. */
const UNSETTLED_MS = 5_000

/** What of the TX gate says how soon it is looked at again. */
interface Gate {
  readonly armed: boolean
  readonly transmitter: string
}

/** When the gate is looked at next. */
export function nextLookMs(state: Gate | undefined): number {
  const isSettled = state !== undefined && state.transmitter === (state.armed ? 'on' : 'off')
  return isSettled ? SETTLED_MS : UNSETTLED_MS
}
