import type { Context, Metrics } from '@steeple/contracts'

export interface ComplianceParts {
  readonly context: Context
  readonly count: ComplianceCount
}

/** Reconciler that erases SIMs as soon as they may go. */
export const ERASURE_RESOURCE = 'compliance_erasure'

type Counter = ReturnType<Metrics['counter']>

interface ComplianceCount {
  readonly exports: Counter
  readonly rows: Counter
  readonly moves: Counter
  readonly erasures: ReturnType<Metrics['gauge']>
}

export function complianceCount(metrics: Metrics): ComplianceCount {
  return {
    exports: metrics.counter('svc_compliance_exports_total', 'Exports, by how they ended.', ['result']),
    rows: metrics.counter('svc_compliance_rows_total', 'Rows in exports.'),
    moves: metrics.counter('svc_compliance_moves_total', 'Recorded moves.', ['how']),
    erasures: metrics.gauge('svc_compliance_erasures_open', 'SIMs with data that will be erased.'),
  }
}
