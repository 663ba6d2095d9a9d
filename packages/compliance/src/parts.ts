import type { Context } from '@steeple/contracts'
import type { ComplianceCount } from './plugin.ts'

export interface ComplianceParts {
  readonly context: Context
  readonly count: ComplianceCount
}

/** Reconciler that erases SIMs as soon as they may go. */
export const ERASURE_RESOURCE = 'compliance_erasure'
