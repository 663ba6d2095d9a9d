/** The plugin's own configuration, `backup`. The passphrase is a secret: `Context.secret`. */
export interface BackupConfig {
  /** A duration; empty: no scheduled backups. */
  readonly schedule: string
  /** Empty: `<data_dir>/backups`. */
  readonly directory: string
  readonly keep: number
}
