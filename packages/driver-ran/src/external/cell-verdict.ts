import type { SwitchReading } from './cell-switch.ts'

/**
 * What the core says of the cell. `closed`: the core is closed to it, and it has not asked for it. `knocking`: it asks for a core
 * that is closed to it.
 */
export type Sighting = 'seen' | 'gone' | 'closed' | 'knocking' | { readonly unknown: string }

/** One look at switch and core, both asked anew. */
export interface CellLook {
  readonly reading: SwitchReading | { readonly unknown: string }
  readonly sighting: Sighting
}

/** What is known of the time before the look. */
export interface CellPast {
  /** It was turned on, and has not been proven off since. */
  readonly wasOn: boolean
  /** The core has seen it in that time. */
  readonly wasSeen: boolean
  /** How long nothing has said that it is on, ms. */
  readonly quietMs: number
}

/** Whether a cell is off, and what proves it. */
export interface CellVerdict {
  readonly state: 'on' | 'off' | 'unknown'
  /** What says so, as the end of a sentence. */
  readonly because: string
}

/** A cell with power asks for its core again within this time: TS 36.413 leaves it to the maker, a minute is usual. */
const KNOCKS_WITHIN_MS = 120_000

/** One that has power has come up and found its core within this time. */
const BOOTS_WITHIN_MS = 600_000

const on = (because: string): CellVerdict => ({ state: 'on', because })
const off = (because: string): CellVerdict => ({ state: 'off', because })
const unknown = (because: string): CellVerdict => ({ state: 'unknown', because })

/**
 * Whether the cell is off. It is when its switch, asked anew, says so, and one thing beside: the cell itself says that its
 * transmitter is off, or it draws no power, or the core had its association and has it no more. Whatever says otherwise wins.
 * One that the core has not seen since it was turned on is waited for as long as it may take to come up.
 */
export function cellVerdict({ reading, sighting }: CellLook, past: CellPast): CellVerdict {
  const seen = seenWords(sighting)
  if ('unknown' in reading)
    return seen === undefined ? unknown(`its switch does not say what it does: ${reading.unknown}`) : on(seen)
  const { isOn, meter } = reading
  if (isOn) return on('its switch is on')
  if (meter !== undefined && !meter.isZero)
    return on(meter.of === 'power' ? `it draws ${meter.shown}` : `it says of itself: ${meter.shown}`)
  // A locked cell may keep its association.
  if (meter?.of === 'transmitter') return off(`it says of itself: ${meter.shown}`)
  if (seen !== undefined) return on(seen)
  if (meter !== undefined) return off(`it draws ${meter.shown}`)
  return byCore(sighting, past)
}

function seenWords(sighting: Sighting): string | undefined {
  if (sighting === 'seen') return 'the core has an association with it'
  return sighting === 'knocking' ? 'it asks for the core, which is closed to it' : undefined
}

/** The switch is off, and nothing but the core can say of the cell. */
function byCore(sighting: Sighting, { wasOn, wasSeen, quietMs }: CellPast): CellVerdict {
  if (typeof sighting === 'object')
    return unknown(`its switch is off, but the core does not say whether it is gone: ${sighting.unknown}`)
  if (sighting === 'closed')
    return wasOn && quietMs < KNOCKS_WITHIN_MS
      ? unknown('its switch is off, but it may still ask for the core')
      : off('its switch is off, and it does not ask for the core')
  return wasOn && !wasSeen && quietMs < BOOTS_WITHIN_MS
    ? unknown(
        'its switch is off, but the core has not seen it since it was turned on: that it is not there proves nothing for 10 minutes',
      )
    : off('its switch is off, and the core has no association with it')
}
