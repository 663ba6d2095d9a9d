import {
  boxCallsRef,
  type Context,
  hssDriverRef,
  type NodeIdentity,
  type OtherBox,
  type Vault,
} from '@steeple/contracts'
import { IND_STEP } from './sqn.ts'

/** Configuration of this plugin. */
export interface RoamingConfig {
  /** Whether this box serves SIMs of other boxes. */
  readonly visitors: boolean
  /** The reach of SIMs for which nobody has chosen one. */
  readonly default_reach: 'home' | 'mesh' | 'on_demand'
  /** How long a visited box may serve a SIM without hearing from its home. A duration. */
  readonly lease: string
}

/** What the routes and reconcilers of this plugin share. */
export interface RoamingParts {
  readonly context: Context<RoamingConfig>
  readonly vault: Vault
  readonly node: NodeIdentity
}

/** Reconciler that makes leases of what SIMs, reaches and permits say: keys are hashes, and `all`. */
export const PLAN_RESOURCE = 'roaming_plan'
export const ALL = 'all'
/** Reconciler that tells a box of its leases. */
export const BOX_RESOURCE = 'roaming_box'
/** Reconciler that brings visitors into the HSS and out of it. */
export const VISITOR_RESOURCE = 'roaming_visitor'

/** The other members, by node id; undefined while they are not known. */
export async function othersOf({
  context,
}: Pick<RoamingParts, 'context'>): Promise<ReadonlyMap<string, OtherBox> | undefined> {
  const others = await context.maybe(boxCallsRef)?.others()
  return others && new Map(others.map((box) => [box.nodeId, box]))
}

/** Why the HSS of this box cannot share a card with that of another one; undefined when it can. */
export function indProblem({ context }: Pick<RoamingParts, 'context'>): string | undefined {
  const step = context.maybe(hssDriverRef)?.sqnStep ?? IND_STEP
  return step === IND_STEP
    ? undefined
    : 'the core of this box changes the index (IND) at each authentication, so that no other box can serve the same SIM'
}
