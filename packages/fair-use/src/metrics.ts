import type { Metrics } from '@steeple/contracts'
import type { Step } from './steps.ts'

/** How a usage report was taken. */
export type ReportResult = 'counted' | 'repeated' | 'refused'

export interface FairUseMetrics {
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
