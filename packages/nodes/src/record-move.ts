import { type Context, type LifecycleState, moveRecorderRef, type Tx } from '@steeple/contracts'
import type { NodeRow } from './node-store.ts'

/** Has a move written down in its own transaction where somebody keeps a record. */
export async function recordMove(
  context: Context,
  tx: Tx,
  { node_id: nodeId, state: from }: NodeRow,
  to: LifecycleState,
): Promise<void> {
  await context.maybe(moveRecorderRef)?.nodeMoved(tx, { nodeId, from, to })
}
