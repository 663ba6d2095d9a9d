import type { ImsiHash } from './drivers.ts'
import { type ServiceRef, serviceRef } from './service-ref.ts'
import type { LifecycleState } from './services.ts'
import type { SubscriberState } from './sim-services.ts'
import type { Tx } from './store.ts'

// ---- provided by a plugin that keeps a record for others to check; asked by sims and nodes ----

/** A move of one SIM as it is recorded. */
export interface RecordedSimMove {
  readonly imsi: ImsiHash
  /** Undefined for a new one. */
  readonly from: SubscriberState | undefined
  readonly to: SubscriberState
  /** Why it is suspended; undefined in other states. */
  readonly reason: string | undefined
}
/** A move of a node in its lifecycle as it is recorded. */
export interface RecordedNodeMove {
  readonly nodeId: string
  readonly from: LifecycleState
  readonly to: LifecycleState
}
/**
 * Writes moves down in the transaction that makes them, so that neither a crash nor a restart loses one. What happens while
 * nobody provides it is found by comparison once somebody does.
 */
export interface MoveRecorder {
  simsMoved(tx: Tx, moves: readonly RecordedSimMove[]): Promise<void>
  nodeMoved(tx: Tx, move: RecordedNodeMove): Promise<void>
}
export const moveRecorderRef: ServiceRef<MoveRecorder> = serviceRef<MoveRecorder>('moves.recorder', {
  simsMoved: 'function',
  nodeMoved: 'function',
})
