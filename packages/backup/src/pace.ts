import { setTimeout as delay } from 'node:timers/promises'

/** How fast work beside the service's own goes on: called after each piece of work. */
export type Pace = () => Promise<void>

/** A piece that took longer than any of ours, such as the key from a passphrase, is not rested for at once. */
const LONGEST_REST_MS = 50
/** Timers cannot do less. */
const SHORTEST_REST_MS = 1

/** What a pace is measured and kept with. */
export interface PaceParts {
  /** Processor time of this process so far, ms. */
  readonly usedMs: () => number
  readonly sleep: (ms: number) => Promise<unknown>
}

const PROCESS: PaceParts = {
  usedMs: () => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1_000
  },
  sleep: (ms) => delay(ms),
}

/**
 * Takes `share` of one core (0 to 1): after each piece it rests so much longer than it worked. A scheduler lets whoever is
 * at work go on to the end of its slice, up to 4 ms, whatever its priority: short pieces with rests between them are what
 * keeps a request from waiting. Time that was waited for a processor is not rested for.
 */
export function gentlePace(share: number, { usedMs, sleep }: PaceParts = PROCESS): Pace {
  const times = 1 / share - 1
  let since = usedMs()
  return async () => {
    const restMs = (usedMs() - since) * times
    if (restMs < SHORTEST_REST_MS) return
    await sleep(Math.min(restMs, LONGEST_REST_MS))
    since = usedMs()
  }
}
