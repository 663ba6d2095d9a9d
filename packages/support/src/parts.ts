import type { Context } from '@steeple/contracts'
import type { Scrub } from './bundle/clean-text.ts'
import type { HealthHistory } from './health-history.ts'

export interface SupportParts {
  readonly context: Context
  readonly history: HealthHistory
  readonly scrub: Scrub
}
