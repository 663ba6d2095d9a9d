import { type Metrics, type MoveRecorder, moveRecorderRef, type Plugin, pageRoutes } from '@steeple/contracts'
import { compareAll } from './compare.ts'
import { erasureHealth, erasureReconciler } from './erase.ts'
import { MIGRATIONS } from './migrations.ts'
import type { ComplianceParts } from './parts.ts'
import { prune } from './retention.ts'
import { exportRoute } from './routes/export-route.ts'
import { erasuresRoute, forgetRoute } from './routes/forget-route.ts'
import { addMoves, type How, type MoveRow, TABLES } from './store.ts'

const PRUNE_MS = 3_600_000

/** The record of what happened, the regulator's file of it, and the erasure of one person's data. */
export const plugin: Plugin = {
  migrations: MIGRATIONS,
  tables: TABLES,
  setup: async (context) => {
    const parts: ComplianceParts = { context, count: complianceCount(context.metrics) }
    return {
      services: new Map<string, object>([[moveRecorderRef.id, moveRecorder(parts)]]),
      routes: [
        exportRoute(parts),
        forgetRoute(parts),
        erasuresRoute(parts),
        ...pageRoutes(import.meta.url, '/compliance-files'),
      ],
      reconcilers: [erasureReconciler(parts)],
      start: async () => {
        context.every(PRUNE_MS, (signal) => prune(parts, signal))
        // Nobody waits for it: there may be a hundred thousand SIMs.
        void compareAll(parts, context.retiring).catch((error: unknown) => {
          if (!context.retiring.aborted)
            context.log.error({ err: error }, 'the record could not be compared with what is')
        })
      },
      health: async () => [await erasureHealth(parts)],
    }
  },
}

/** Writes moves down in the transactions that make them. */
function moveRecorder({ context, count }: ComplianceParts): MoveRecorder {
  const { clock, db } = context
  return {
    simsMoved: async (tx, moves) => {
      const at_ms = clock.nowMs()
      const rows = moves.map(
        ({ imsi, from, to, reason }): Omit<MoveRow, 'seq'> => ({
          at_ms,
          kind: 'sim',
          subject: imsi,
          from_state: from ?? null,
          to_state: to,
          reason: reason ?? null,
          how: 'move',
        }),
      )
      await addMoves(db.join(tx), rows)
      tx.afterCommit(() => count.moved('move', rows.length))
    },
    nodeMoved: async (tx, { nodeId, from, to }) => {
      await addMoves(db.join(tx), [
        {
          at_ms: clock.nowMs(),
          kind: 'lifecycle',
          subject: nodeId,
          from_state: from,
          to_state: to,
          reason: null,
          how: 'move',
        },
      ])
      tx.afterCommit(() => count.moved('move', 1))
    },
  }
}

export interface ComplianceCount {
  exported(result: 'whole' | 'broken'): void
  rows(count: number): void
  moved(how: How, count: number): void
  erasures(open: number): void
}

export function complianceCount(metrics: Metrics): ComplianceCount {
  const exports = metrics.counter('svc_compliance_exports_total', 'Exports, by how they ended.', ['result'])
  const rows = metrics.counter('svc_compliance_rows_total', 'Rows in exports.')
  const moves = metrics.counter('svc_compliance_moves_total', 'Recorded moves.', ['how'])
  const open = metrics.gauge('svc_compliance_erasures_open', 'SIMs with data that will be erased.')
  return {
    exported: (result) => exports.inc({ result }),
    rows: (count) => rows.inc({}, count),
    moved: (how, count) => moves.inc({ how }, count),
    erasures: (count) => open.set(count),
  }
}
