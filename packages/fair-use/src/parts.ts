import type { Context, Subscribers, UsageLedger } from '@steeple/contracts'
import type { FairUseConfig } from './config.ts'
import type { FairUseMetrics } from './metrics.ts'
import type { NodeReports } from './node-reports.ts'
import type { PeriodClock } from './periods.ts'
import type { Terms } from './steps.ts'

/** What the routes, services and the reconciler of this plugin share. */
export interface FairUseParts {
  readonly context: Context<FairUseConfig>
  readonly subscribers: Subscribers
  readonly ledger: UsageLedger
  readonly clock: PeriodClock
  readonly metrics: FairUseMetrics
  readonly nodes: NodeReports
}

/** Reconciler that does what quotas ask for. */
export const QUOTA_RESOURCE = 'quota'

/** By what decisions go now. */
export function termsOf({ context, clock }: FairUseParts): Terms {
  return {
    isEnabled: context.config.enabled,
    isDoubted: clock.now().isDoubted,
    throttleBps: context.config.throttle_bps,
  }
}
