import type { Metrics } from '@steeple/contracts'
import type { How } from './store.ts'

/** The plugin's metrics. */
export interface ComplianceCount {
  exported(result: 'whole' | 'broken'): void
  rows(count: number): void
  moved(how: How, count: number): void
  erasures(open: number): void
}

/** Registers them. */
export function complianceCount(metrics: Metrics): ComplianceCount {
  const exports = metrics.counter('svc_compliance_exports_total', 'Exports by how they ended.', ['result'])
  const rows = metrics.counter('svc_compliance_rows_total', 'Rows that exports have given.')
  const moves = metrics.counter('svc_compliance_moves_total', 'Moves that were written down.', ['how'])
  const open = metrics.gauge('svc_compliance_erasures_open', 'SIMs whose data is to be erased.')
  return {
    exported: (result) => exports.inc({ result }),
    rows: (count) => rows.inc({}, count),
    moved: (how, count) => moves.inc({ how }, count),
    erasures: (count) => open.set(count),
  }
}
