import type { Clock } from '@steeple/contracts'

/** A rotation of all keys of a large mesh is some dozens of changes of each member. */
const AT_ONCE = 60
/** One change more for each of these. */
const EACH_MS = 2_000

/** How often each member may change what all the others then fetch. */
export interface Allowance {
  /** Takes one change of that member. Seconds until there is one again, when there is none now; undefined when it is taken. */
  take(nodeId: string): number | undefined
}

/** By the clock that never goes back; for as many nodes as ask, since those are members. */
export function changeAllowance(clock: Pick<Clock, 'monotonicMs'>): Allowance {
  const usedUntil = new Map<string, number>()
  return {
    take: (nodeId) => {
      const nowMs = clock.monotonicMs()
      const fromMs = Math.max(usedUntil.get(nodeId) ?? nowMs, nowMs)
      const overMs = fromMs + EACH_MS - nowMs - AT_ONCE * EACH_MS
      if (overMs > 0) return Math.ceil(overMs / 1_000)
      usedUntil.set(nodeId, fromMs + EACH_MS)
      return undefined
    },
  }
}
