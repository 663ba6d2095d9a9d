import type { Context, Turns, Vault } from '@steeple/contracts'
import type { Seen } from './attach/seen.ts'
import type { BatchTrouble } from './batch/batch-trouble.ts'
import type { SimsConfig } from './config.ts'
import type { SimCounters } from './counters.ts'
import type { CoreLink } from './provision/core-link.ts'
import type { DetachBoard } from './provision/detach-board.ts'
import type { HssLink } from './provision/hss-link.ts'
import type { MoveFeed } from './states/move-feed.ts'

/** What the routes and reconcilers of this plugin share. */
export interface SimsParts {
  readonly context: Context<SimsConfig>
  readonly vault: Vault
  readonly counters: SimCounters
  readonly hss: HssLink
  readonly core: CoreLink
  readonly detaches: DetachBoard
  readonly batchTrouble: BatchTrouble
  readonly moves: MoveFeed
  readonly seen: Seen
  /** Imports run one after another: what one finds free in the store, no other takes meanwhile. */
  readonly imports: Turns
}

/** Reconciler that pushes subscribers. */
export const SIM_RESOURCE = 'sim'
/** Reconciler that cuts subscribers off; apart, so that it never waits behind a large import. */
export const CUT_RESOURCE = 'sim_cut'
/** Reconciler that looks for drift. */
export const DRIFT_RESOURCE = 'sim_drift'
/** Reconciler that keeps the files of batches. */
export const FILES_RESOURCE = 'sim_files'
