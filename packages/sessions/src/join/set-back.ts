import type { Session } from './session.ts'

/** What is known of how the clock was set back. */
export interface ClockNow {
  readonly nowMs: number
  /** When the last round was, by the clock of then. */
  readonly beforeMs: number
  /** How often there is a round. */
  readonly intervalMs: number
}

/**
 * Nothing begins or ends ahead of now: what did was seen by a clock that was ahead and has been put right since. It is moved
 * back by so much, so that who came after whom stays. Otherwise nobody would hold an address until then, and who has left would.
 */
export function setBack(sessions: Iterable<Session>, { nowMs, beforeMs, intervalMs }: ClockNow): void {
  for (const session of sessions) {
    const latestMs = Math.max(session.startedAtMs, session.endedAtMs ?? 0)
    if (latestMs <= nowMs) continue
    const byMs = Math.max(beforeMs, latestMs) - nowMs + intervalMs
    const moved = (atMs: number): number => (atMs > nowMs ? Math.max(0, atMs - byMs) : atMs)
    session.startedAtMs = moved(session.startedAtMs)
    session.sinceMs = Math.min(session.startedAtMs, moved(session.sinceMs))
    if (session.endedAtMs !== undefined)
      session.endedAtMs = Math.max(session.startedAtMs, moved(session.endedAtMs))
    session.isChanged = true
  }
}
