import type { ImsiHash, Reader } from '@steeple/contracts'
import { type Account, accountsOf } from './account.ts'
import { type FairUseParts, termsOf } from './parts.ts'
import { type QuotaState, quotaStatesOf } from './store/quota-state-store.ts'

/** What is to be done about a SIM, in this order. */
export type Step = 'resume' | 'unthrottle' | 'suspend' | 'throttle' | 'warn' | 'exceed'

/** What a decision depends on beside the account. */
export interface Terms {
  /** Whether SIMs are suspended by themselves. */
  readonly isEnabled: boolean
  readonly isDoubted: boolean
  /** Rate of quotas that name none, bit/s. */
  readonly throttleBps: number
}

/** Percent of the allowance at which the first event comes. */
export const WARN_PERCENT = 80

/** What is to be done about a SIM with this account. Level-based: done once more it gives nothing. */
function stepsOf(account: Account, quotaState: QuotaState, terms: Terms): readonly Step[] {
  const edge = edgeOf(account)
  const wanted = wantedHold(account)
  const steps: Step[] = []
  if (isToBeReleased(account, quotaState, wanted, terms))
    steps.push(quotaState.held === 'suspend' ? 'resume' : 'unthrottle')
  if (wanted === 'suspend' && terms.isEnabled && quotaState.held !== 'suspend') steps.push('suspend')
  if (wanted === 'throttle' && !isThrottled(account, quotaState, terms)) steps.push('throttle')
  if (isWarned(account) && quotaState.warned !== edge) steps.push('warn')
  if (account.isOver && quotaState.exceeded !== edge) steps.push('exceed')
  return steps
}

/** A SIM of which something is to be done. */
export interface DueSim {
  readonly hash: ImsiHash
  readonly account: Account
  readonly quotaState: QuotaState
  readonly steps: readonly Step[]
}

/** What is to be done, of those of whom anything is. */
export async function stepsFor(
  parts: FairUseParts,
  reader: Reader,
  hashes: readonly string[],
): Promise<readonly DueSim[]> {
  const accounts = await accountsOf(reader, hashes, parts.clock)
  const quotaStates = await quotaStatesOf(reader, [...accounts.keys()])
  const terms = termsOf(parts)
  return [...accounts].flatMap(([hash, account]) => {
    const quotaState = quotaStates.get(hash)
    const steps = quotaState === undefined ? [] : stepsOf(account, quotaState, terms)
    return quotaState === undefined || steps.length === 0 ? [] : [{ hash, account, quotaState, steps }]
  })
}

/** The period and allowance that an event is about: each is told once. */
export function edgeOf({ startMs, limitBytes }: Account): string {
  return `${startMs}/${limitBytes}`
}

/** The rate that a quota leaves when it is used up. */
export function throttleBpsOf({ quota }: Account, terms: Terms): number {
  return quota.throttle_bps ?? terms.throttleBps
}

/** How a SIM should be held off now. */
export function wantedHold({ quota, isOver, isFree }: Account): 'suspend' | 'throttle' | undefined {
  return isOver && !isFree && quota.action !== 'alert' ? quota.action : undefined
}

function isWarned({ usedBytes, limitBytes }: Account): boolean {
  // In shares of a hundred first: the product of two large counts would not be exact.
  return usedBytes / WARN_PERCENT >= limitBytes / 100
}

function isThrottled(account: Account, quotaState: QuotaState, terms: Terms): boolean {
  return quotaState.held === 'throttle' && quotaState.held_bps === throttleBpsOf(account, terms)
}

/** While the clock is in doubt what another period has brought about stays: this one may not have begun. */
function isToBeReleased(
  { startMs }: Account,
  { held, held_from_ms }: QuotaState,
  wanted: ReturnType<typeof wantedHold>,
  { isDoubted }: Terms,
): boolean {
  return held !== null && held !== wanted && (!isDoubted || held_from_ms === startMs)
}
