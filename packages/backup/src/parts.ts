import type { Context } from '@steeple/contracts'
import type { BackupConfig } from './config.ts'
import type { BackupCount } from './metrics.ts'

export interface BackupParts {
  readonly context: Context<BackupConfig>
  readonly count: BackupCount
}
