import type { Level } from '../rules/rule.ts'

/** An alert that is not over. Times are ms since the epoch. */
export interface RuleState {
  readonly state: 'pending' | 'firing'
  /** Since when it is bad without a break. */
  readonly sinceMs: number
  /** Since when it is well, while it fires; null while it is not. */
  readonly clearSinceMs: number | null
}

/** How long a rule waits, ms. */
export interface Waits {
  readonly forMs: number
  readonly clearMs: number
}

/** What becomes of it. `dropped` was pending and never fired; `resolved` has fired and is over. */
export type Next = RuleState | 'dropped' | 'resolved' | undefined

/**
 * One step of the life of an alert: nothing → pending → firing → resolved. The same standing comes back when nothing changes.
 *
 * It fires when it was bad for `forMs` without being good in between, and is over when it was good for `clearMs` without being
 * bad in between. What is neither, or not known, moves nothing.
 */
export function step(
  ruleState: RuleState | undefined,
  level: Level,
  nowMs: number,
  { forMs, clearMs }: Waits,
): Next {
  if (ruleState === undefined) {
    if (level !== 'bad') return undefined
    return { state: forMs === 0 ? 'firing' : 'pending', sinceMs: nowMs, clearSinceMs: null }
  }
  return ruleState.state === 'pending'
    ? stepPending(ruleState, level, nowMs, forMs)
    : stepFiring(ruleState, level, nowMs, clearMs)
}

function stepPending(ruleState: RuleState, level: Level, nowMs: number, forMs: number): Next {
  if (level === 'good') return 'dropped'
  // The clock was put back: how long it lasts is counted anew.
  if (nowMs < ruleState.sinceMs) return { ...ruleState, sinceMs: nowMs }
  if (level === 'bad' && nowMs - ruleState.sinceMs >= forMs) return { ...ruleState, state: 'firing' }
  return ruleState
}

function stepFiring(ruleState: RuleState, level: Level, nowMs: number, clearMs: number): Next {
  const { clearSinceMs } = ruleState
  if (level === 'bad') return clearSinceMs === null ? ruleState : { ...ruleState, clearSinceMs: null }
  if (level !== 'good') return ruleState
  if (clearMs === 0) return 'resolved'
  if (clearSinceMs === null || nowMs < clearSinceMs) return { ...ruleState, clearSinceMs: nowMs }
  return nowMs - clearSinceMs >= clearMs ? 'resolved' : ruleState
}
