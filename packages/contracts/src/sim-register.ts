import type { ImsiHash } from './drivers.ts'
import type { RecordedSimMove } from './move-recorder.ts'
import { type ServiceRef, serviceRef } from './service-ref.ts'
import type { SubscriberState } from './sim-services.ts'
import type { MutationTx, Tx } from './store.ts'

// ---- provided by sims ----

/** What decides whether all that is known of a SIM may go. */
export interface SimRemains {
  readonly state: SubscriberState
  /** Whether it was never seen in a core. */
  readonly isUnused: boolean
  /** Why HSS and core still have to hear that it is revoked, for which its IMSI is needed; undefined when they have. */
  readonly waitsFor: string | undefined
}
/** The states of all SIMs, and the end of all that is known of one. Throws `store_corrupt`. */
export interface SimRegister {
  /** At most `limit` SIMs behind the hash `after`, by hash, as they stand in the transaction. */
  states(tx: Tx, after: string, limit: number): Promise<readonly Omit<RecordedSimMove, 'from'>[]>
  /** Undefined for one that does not exist. */
  remains(imsi: ImsiHash, tx?: Tx): Promise<SimRemains | undefined>
  /** Revokes it in the caller's mutation; nothing when it is revoked. Throws `sim_not_found`. */
  revokeIn(tx: MutationTx, imsi: ImsiHash): Promise<void>
  /**
   * Removes of a revoked SIM what neither HSS nor core needs to let it go, in the caller's mutation: keys, card codes, ICCID,
   * label, number, when it was seen; its batch is written anew without it. Its IMSI stays. Throws `sim_not_found`,
   * `sim_state_conflict` for one that is not revoked.
   */
  stripIn(tx: MutationTx, imsi: ImsiHash): Promise<void>
  /**
   * Removes a revoked SIM in the caller's mutation, with all that `stripIn` removes. Throws `sim_not_found`,
   * `sim_state_conflict` for one that is not revoked, or still awaited unless `isUnheard`: then HSS and core keep what they have.
   */
  eraseIn(tx: MutationTx, imsi: ImsiHash, how?: { readonly isUnheard: boolean }): Promise<void>
}
export const simRegisterRef: ServiceRef<SimRegister> = serviceRef<SimRegister>('sims.register', {
  states: 'function',
  remains: 'function',
  revokeIn: 'function',
  stripIn: 'function',
  eraseIn: 'function',
})
