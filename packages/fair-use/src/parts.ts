import type { Context, Metrics, Subscribers, UsageLedger } from '@steeple/contracts'
import type { NodeReports } from './node-reports.ts'
import type { PeriodClock } from './periods.ts'
import type { Step, Terms } from './steps.ts'

/** How a usage report was taken. */
type ReportResult = 'counted' | 'repeated' | 'refused'

interface FairUseMetrics {
  done(step: Step): void
  reported(result: ReportResult): void
  /** SIMs by action: with a quota, and with one that is used up. */
  counted(quotas: ReadonlyMap<string, number>, over: ReadonlyMap<string, number>): void
  unknown(seconds: number): void
}

const ACTIONS = ['suspend', 'throttle', 'alert'] as const

export function fairUseMetrics(metrics: Metrics): FairUseMetrics {
  const quotas = metrics.gauge(
    'svc_fair_use_quotas',
    'SIMs with a quota, by what happens when it is used up.',
    ['action'],
  )
  const over = metrics.gauge(
    'svc_fair_use_over',
    'SIMs that have used up their quota of this period, by what happens then.',
    ['action'],
  )
  const edges = metrics.counter('svc_fair_use_edges_total', 'Quotas that reached a limit.', ['edge'])
  const actions = metrics.counter('svc_fair_use_actions_total', 'Actions on SIMs.', ['action'])
  const reports = metrics.counter('svc_fair_use_reports_total', 'Usage reports by result.', ['result'])
  const unknown = metrics.gauge(
    'svc_fair_use_unknown_seconds',
    'Seconds for which usage has been unknown. 0: it is known. NaN: no collector has worked yet.',
  )
  return {
    done: (step) => {
      if (step === 'warn') edges.inc({ edge: 'warning' })
      else if (step === 'exceed') edges.inc({ edge: 'exceeded' })
      else actions.inc({ action: step })
    },
    reported: (result) => reports.inc({ result }),
    counted: (all, used) => {
      for (const action of ACTIONS) {
        quotas.set(all.get(action) ?? 0, { action })
        over.set(used.get(action) ?? 0, { action })
      }
    },
    unknown: (seconds) => unknown.set(seconds),
  }
}

/** Configuration at `fairuse`. Durations as written. */
export interface FairUseConfig {
  /** Whether SIMs over their quota are suspended by themselves. */
  readonly enabled: boolean
  /** How often usage is compared with quotas, beside each time that some is counted. */
  readonly usage_interval: string
  /** IANA name; the machine's time zone while it is empty. */
  readonly time_zone: string
  /** Rate that action `throttle` leaves to a SIM whose quota does not say, bit/s. */
  readonly throttle_bps: number
  /** What becomes of a session that runs with other rates. */
  readonly throttle_reach: 'kick' | 'wait'
}

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
