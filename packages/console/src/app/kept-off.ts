/** The gates of the transmitter, in the order in which they are shown. */
export const GATES = ['country_code', 'license_ack', 'allow_list'] as const

/** What of the TX gate says what keeps the box off the air. */
interface Gate {
  readonly transmitter: string
  readonly gates: Readonly<Record<(typeof GATES)[number], string>>
}

/** The gates that are not set. */
export function closedGates({ gates }: Pick<Gate, 'gates'>): readonly (typeof GATES)[number][] {
  return GATES.filter((gate) => gates[gate] !== 'set')
}

/** Whether the box is off the air by a gate that somebody could mend. */
export function isKeptOff(state: Gate | undefined): boolean {
  return state !== undefined && state.transmitter === 'off' && closedGates(state).length > 0
}

/** Events tell of the transmitter; this is for what they could not tell of. */
const SETTLED_MS = 30_000
/** Between what it is told and what it says. */
const UNSETTLED_MS = 5_000

/** When the gate is looked at next. */
export function nextLookMs(
  state: { readonly armed: boolean; readonly transmitter: string } | undefined,
): number {
  const isSettled = state !== undefined && state.transmitter === (state.armed ? 'on' : 'off')
  return isSettled ? SETTLED_MS : UNSETTLED_MS
}
