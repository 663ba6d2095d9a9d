import type { Metrics } from '@steeple/contracts'
import type { Severity } from './rules/rule.ts'
import type { AlertRow } from './store/alert-store.ts'
import type { Backlog } from './store/delivery-store.ts'

export interface AlertMetrics {
  open(rows: readonly AlertRow[]): void
  moved(to: 'firing' | 'resolved', severity: Severity): void
  attempted(result: 'delivered' | 'failed'): void
  backlog(all: ReadonlyMap<string, Backlog>): void
  diskFree(ratio: number): void
}

const SEVERITIES: readonly Severity[] = ['info', 'warning', 'critical']

export function alertMetrics(metrics: Metrics): AlertMetrics {
  const open = metrics.gauge('svc_alerts_open', 'Alerts that are pending or firing.', ['severity', 'state'])
  const moves = metrics.counter(
    'svc_alerts_transitions_total',
    'Alerts that began to fire or were resolved.',
    ['severity', 'to'],
  )
  const attempts = metrics.counter('svc_alerts_webhook_attempts_total', 'Attempts to deliver a message.', [
    'result',
  ])
  const messages = metrics.gauge('svc_alerts_webhook_messages', 'Messages that are not delivered.', ['state'])
  const disk = metrics.gauge('svc_alerts_disk_free_ratio', "Free share of the data directory's file system.")
  return {
    open: (rows) => {
      for (const severity of SEVERITIES)
        for (const state of ['pending', 'firing']) {
          const count = rows.filter((row) => row.severity === severity && row.state === state).length
          open.set(count, { severity, state })
        }
    },
    moved: (to, severity) => moves.inc({ to, severity }),
    attempted: (result) => attempts.inc({ result }),
    backlog: (all) => {
      for (const state of ['waiting', 'parked'] as const)
        messages.set(
          [...all.values()].reduce((sum, one) => sum + one[state], 0),
          { state },
        )
    },
    diskFree: (ratio) => disk.set(ratio),
  }
}
