import { setTimeout as wait } from 'node:timers/promises'

/** A commit that takes as long is worth a wait for those who will want the next one, ms. */
const LONG_COMMIT_MS = 4
/** Such a wait, ms. */
const GATHER_MS = 1
/** After waits for nobody it goes without, for at most two to the power of this many commits. */
const MOST_MISSES = 6

/** Has jobs share a commit that would otherwise take turns. */
export interface Gathering {
  /** A wait before the next group, given what is asked for how many jobs are there; undefined when none is worth it. */
  more(jobs: () => number): Promise<void> | undefined
  /** How the last group went. */
  committed(jobs: number, commitMs: number): void
}

/**
 * Clients that are answered together ask again together, while the commit of the others is under way: so two halves of them take
 * turns, each with a commit of its own. On a disk that is slow to sync, a wait of a quarter of that at most joins them. One client
 * alone never waits, and where waiting brings nobody it is tried ever more seldom.
 */
export function createGathering(): Gathering {
  let isWorthIt = false
  let misses = 0
  let without = 0
  const gather = async (jobs: () => number): Promise<void> => {
    const before = jobs()
    await wait(GATHER_MS)
    misses = jobs() > before ? 0 : Math.min(misses + 1, MOST_MISSES)
    without = misses === 0 ? 0 : 2 ** misses
  }
  return {
    more: (jobs) => {
      if (!isWorthIt) return undefined
      without -= 1
      return without >= 0 ? undefined : gather(jobs)
    },
    committed: (jobs, commitMs) => {
      isWorthIt = jobs > 1 && commitMs >= LONG_COMMIT_MS
    },
  }
}
