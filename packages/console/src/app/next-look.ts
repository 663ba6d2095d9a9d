/** For what a radio on the air does by itself, of which no event tells; and for a licence that ends meanwhile. */
const ON_AIR_MS = 5_000
const OFF_AIR_MS = 30_000
/** A radio goes on and off a moment after its gate, without an event: until then, but for no longer than this, it is looked at closely. */
const CLOSELY_MS = 200
const MOST_LOOKS = 60

/** What of the TX gate says how soon it is looked at again. */
interface Gate {
  readonly armed: boolean
  readonly transmitter: string
}

/** When the gate is looked at next, after so many looks since something has changed. */
export function nextLookMs(state: Gate | undefined, looks: number): number {
  if (state === undefined) return ON_AIR_MS
  const isDone = state.transmitter === (state.armed ? 'on' : 'off')
  if (!isDone && looks <= MOST_LOOKS) return CLOSELY_MS
  return state.armed || state.transmitter !== 'off' ? ON_AIR_MS : OFF_AIR_MS
}
