import type { Context, Metrics } from '@steeple/contracts'

type Destination = 'answer' | 'schedule'

interface BackupCount {
  taken(to: Destination): void
  failed(to: Destination): void
  /** The newest scheduled one: seconds since the epoch, and octets. */
  newest(atS: number, bytes: number): void
}

export function backupCount(metrics: Metrics): BackupCount {
  const taken = metrics.counter('svc_backup_taken_total', 'Backups taken, by where they went.', ['to'])
  const failed = metrics.counter(
    'svc_backup_failures_total',
    'Backups that failed or did not pass their check.',
    ['to'],
  )
  const seconds = metrics.gauge('svc_backup_last_seconds', 'Time of the newest scheduled backup.')
  const bytes = metrics.gauge('svc_backup_last_bytes', 'Bytes of the newest scheduled backup.')
  return {
    taken: (to) => taken.inc({ to }),
    failed: (to) => failed.inc({ to }),
    newest: (atS, octets) => {
      seconds.set(atS)
      bytes.set(octets)
    },
  }
}

/** The plugin's own configuration, `backup`. The passphrase is a secret: `Context.secret`. */
export interface BackupConfig {
  /** A duration; empty: no scheduled backups. */
  readonly schedule: string
  /** Empty: `<data_dir>/backups`. */
  readonly directory: string
  readonly keep: number
}

export interface BackupParts {
  readonly context: Context<BackupConfig>
  readonly count: BackupCount
}
