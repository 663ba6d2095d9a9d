import type { SessionSighting, Technology } from '@steeple/contracts'

/** When sessions began, as far as this copy has seen them come. */
export interface SessionStarts {
  /** The sightings of a look, whole but for the unseen technologies, with the times at which their sessions began. */
  noted(
    sightings: readonly SessionSighting[],
    seenAtMs: number,
    unseen: readonly Technology[],
  ): readonly SessionSighting[]
}

interface Begun {
  readonly technology: Technology
  readonly startedAtMs: number | undefined
}

/** A look says of what was not in the one before when it began only if that one was not longer ago, ms. */
const BETWEEN_MS = 5 * 60_000

/**
 * The core does not say when a session began. One that the look before did not show has begun since; of those that were
 * there at the first look, or came while none worked, nothing is known. So a session that has the address of an earlier one,
 * and with it its reference, can be told from it.
 */
export function sessionStarts(): SessionStarts {
  let known = new Map<string, Begun>()
  let lookedAtMs: number | undefined
  return {
    noted: (sightings, seenAtMs, unseen) => {
      const isClose = lookedAtMs !== undefined && seenAtMs - lookedAtMs <= BETWEEN_MS
      const begunMs = isClose ? seenAtMs : undefined
      const isUnseen = ([, { technology }]: [string, Begun]): boolean => unseen.includes(technology)
      const now = new Map<string, Begun>([...known].filter(isUnseen))
      const all = sightings.map((sighting) => {
        const { reference, technology } = sighting
        const begun = known.get(reference) ?? { technology, startedAtMs: begunMs }
        now.set(reference, begun)
        return { ...sighting, startedAtMs: begun.startedAtMs }
      })
      known = now
      lookedAtMs = seenAtMs
      return all
    },
  }
}
