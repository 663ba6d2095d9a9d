import type { MoveRecorder } from '@steeple/contracts'
import type { ComplianceParts } from './parts.ts'
import { addMoves, type MoveRow } from './store.ts'

/** Writes moves down in the transactions that make them. */
export function moveRecorder({ context, count }: ComplianceParts): MoveRecorder {
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
