import type { SessionSighting } from '@steeple/contracts'

/** When sessions began, as far as this copy has seen them come. */
export interface SessionStarts {
  /** The sightings of a whole look with the times at which their sessions began. */
  noted(sightings: readonly SessionSighting[], seenAtMs: number): readonly SessionSighting[]
}

/** A look says of what was not in the one before when it began only if that one was not longer ago, ms. */
const BETWEEN_MS = 5 * 60_000

/**
 * The core does not say when a session began. One that the look before did not show has begun since; of those that were
 * there at the first look, or came while none worked, nothing is known. So a session that has the address of an earlier one,
 * and with it its reference, can be told from it.
 */
export function sessionStarts(): SessionStarts {
  let known = new Map<string, number | undefined>()
  let lookedAtMs: number | undefined
  return {
    noted: (sightings, seenAtMs) => {
      const isClose = lookedAtMs !== undefined && seenAtMs - lookedAtMs <= BETWEEN_MS
      const begunMs = isClose ? seenAtMs : undefined
      const now = new Map<string, number | undefined>()
      const all = sightings.map((sighting) => {
        const { reference } = sighting
        const startedAtMs = known.has(reference) ? known.get(reference) : begunMs
        now.set(reference, startedAtMs)
        return { ...sighting, startedAtMs }
      })
      known = now
      lookedAtMs = seenAtMs
      return all
    },
  }
}
