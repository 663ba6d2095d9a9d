import type { Context, Metrics } from '@steeple/contracts'

/** The series of this plugin. */
export function backupCount(metrics: Metrics) {
  return {
    taken: metrics.counter('svc_backup_taken_total', 'Backups taken, by where they went.', ['to']),
    failed: metrics.counter('svc_backup_failures_total', 'Backups that failed or did not pass their check.', [
      'to',
    ]),
    lastS: metrics.gauge('svc_backup_last_seconds', 'Time of the newest scheduled backup.'),
    lastBytes: metrics.gauge('svc_backup_last_bytes', 'Bytes of the newest scheduled backup.'),
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
  readonly count: ReturnType<typeof backupCount>
}
