import type { Session } from '../join/session.ts'
import type { Moved } from './growth.ts'

/** A part of octets, and whose it is. */
export interface Part extends Moved {
  readonly session: Session
  /** The address changed hands in the span: how much belongs to whom is not known exactly. */
  readonly isDivided: boolean
}

/** Sightings come with the polls, and clocks differ: an address is a session's for so long before and behind, ms. */
export const MARGIN_MS = 60_000

/**
 * Whose the octets of an address are.
 *
 * - Of one session that held it at some time of the span: all are its own.
 * - Of several one after the other: divided by the time that each held it, and every part is marked.
 * - Of none: of one that begins at most a minute after the span. Of one that had ended at most a minute before only when
 *   `isLate`, since the next holder may not have been seen yet.
 *
 * Undefined when nobody is known.
 */
export function partsOf(
  holders: readonly Session[],
  moved: Moved,
  isLate: boolean,
): readonly Part[] | undefined {
  const { fromMs, toMs } = moved
  const within = holders.filter((each) => each.sinceMs < toMs && (each.endedAtMs ?? toMs) > fromMs)
  if (within.length > 1) return divided(within, moved)
  const owner =
    within[0] ??
    nearest(holders.filter((each) => each.sinceMs >= toMs && each.sinceMs < toMs + MARGIN_MS)) ??
    // A span of no length, at the moment of a beginning or an end.
    holders.findLast((each) => each.sinceMs <= toMs && (each.endedAtMs ?? fromMs) >= fromMs) ??
    (isLate ? lastEnded(holders, fromMs) : undefined)
  return owner === undefined ? undefined : [{ ...moved, session: owner, isDivided: false }]
}

function nearest(sessions: readonly Session[]): Session | undefined {
  return sessions.toSorted((a, b) => a.sinceMs - b.sinceMs)[0]
}

function lastEnded(holders: readonly Session[], fromMs: number): Session | undefined {
  return holders
    .filter(({ endedAtMs }) => endedAtMs !== undefined && endedAtMs + MARGIN_MS > fromMs)
    .toSorted((a, b) => (b.endedAtMs ?? 0) - (a.endedAtMs ?? 0))[0]
}

function divided(holders: readonly Session[], moved: Moved): readonly Part[] {
  const sorted = holders.toSorted((a, b) => a.sinceMs - b.sinceMs || a.id - b.id)
  const whole = moved.toMs - moved.fromMs
  let upBytes = 0
  let downBytes = 0
  return sorted.map((session, index) => {
    const fromMs = index === 0 ? moved.fromMs : Math.max(moved.fromMs, session.sinceMs)
    const next = sorted[index + 1]
    const toMs = next === undefined ? moved.toMs : Math.max(moved.fromMs, next.sinceMs)
    // Up to here, so that all parts together are the whole.
    const share = (toMs - moved.fromMs) / whole
    const up = next === undefined ? moved.upBytes : Math.floor(moved.upBytes * share)
    const down = next === undefined ? moved.downBytes : Math.floor(moved.downBytes * share)
    const part = {
      session,
      fromMs,
      toMs,
      upBytes: up - upBytes,
      downBytes: down - downBytes,
      isDivided: true,
    }
    upBytes = up
    downBytes = down
    return part
  })
}
