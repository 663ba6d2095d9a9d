import { type JsonSchema, objectSchema } from '@steeple/contracts'

/** On what terms a build is fetched and tried. */
export interface Terms {
  /** Whole hours, UTC: it is fetched from `from` on, before `to`. */
  readonly hours?: { readonly from: number; readonly to: number }
  readonly octets_per_second?: number
  /** Also while the transmitter is armed: the restart takes it off the air. */
  readonly while_armed?: boolean
}

/** Whether a time is within hours of the day; `from` above `to` is a night. */
export function isWithin(hours: Terms['hours'], nowMs: number): boolean {
  if (hours === undefined || hours.from === hours.to) return true
  const hour = new Date(nowMs).getUTCHours()
  const { from, to } = hours
  return from < to ? from <= hour && hour < to : hour >= from || hour < to
}

export const BUILD_ID: JsonSchema = { type: 'string', pattern: '^[0-9a-f]{12}$' }
const HOUR: JsonSchema = { type: 'integer', minimum: 0, maximum: 23 }
/** What a hub may say beside the build. */
export const TERMS: Readonly<Record<string, JsonSchema>> = {
  hours: {
    ...objectSchema({ from: HOUR, to: HOUR }, ['from', 'to']),
    description: 'Whole hours, UTC, in which it is fetched: `from` on, before `to`.',
  },
  octets_per_second: {
    type: 'integer',
    minimum: 1_000,
    maximum: 1_000_000_000,
    description: 'How fast it is fetched at most.',
  },
}

/** How a hub lets a build out: no box is told of it. */
export const STAGING: Readonly<Record<string, JsonSchema>> = {
  at_once: {
    type: 'boolean',
    description: 'To all boxes of the group now: else to one, then to a tenth, then to all.',
  },
  settle_minutes: {
    type: 'integer',
    minimum: 0,
    maximum: 43_200,
    description: 'How long all boxes of a stage must be well before the next one; 60 when absent.',
  },
}
