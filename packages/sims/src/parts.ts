import type { Context, Turns, Vault } from '@steeple/contracts'
import type { AttachedSet } from './attach/attach-state.ts'
import type { SimsConfig } from './config.ts'
import type { CoreBreaker, Detached, EndBoard, OpenCuts } from './provision/cut.ts'
import type { HssBreaker, UnfixableSubscribers } from './provision/hss-breaker.ts'
import type { IccidIndex } from './secrets/iccid-index.ts'
import type { MoveFeed, SimCounters } from './states/change.ts'

/** What the routes and reconcilers of this plugin share. */
export interface SimsParts {
  readonly context: Context<SimsConfig>
  readonly vault: Vault
  readonly counters: SimCounters
  readonly hss: HssBreaker
  readonly core: CoreBreaker
  /** How cuts ended. */
  readonly detaches: EndBoard<Detached>
  /** Pushes of SIMs that may be on air: whether the HSS has taken them. */
  readonly pushes: EndBoard<boolean>
  readonly cuts: OpenCuts
  readonly unfixable: UnfixableSubscribers
  readonly moves: MoveFeed
  /** The SIM whose phone attached last, as far as this process has seen. */
  readonly seen: { last: string | undefined }
  readonly attachedSet: AttachedSet
  readonly iccids: IccidIndex
  /** Large imports run one after another: side by side all of them would take longer. */
  readonly imports: Turns
}

/** Reconciler that pushes subscribers, and cuts them off (those keys are urgent). */
export const SIM_RESOURCE = 'sim'
/** Reconciler that has phones take the rates of their SIMs. */
export const RATES_RESOURCE = 'sim_rates'
/** Reconciler that looks for drift. */
export const DRIFT_RESOURCE = 'sim_drift'
