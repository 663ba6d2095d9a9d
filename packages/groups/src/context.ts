import {
  boxCallsRef,
  type Context,
  type Membership,
  type NodeCredentials,
  type NodeIdentity,
  nodeStateConflict,
  type OtherBox,
} from '@steeple/contracts'
import type { BuildFolder } from './software/builds.ts'

/** Configuration of this plugin. */
export interface GroupsConfig {
  /** Public keys with names, `ed25519:… alice`: builds that they have signed run here. */
  readonly build_keys: readonly string[]
  /** How long a new build has to become well. A duration. */
  readonly trial: string
}

/** What the routes and reconcilers of this plugin share. */
export interface Parts {
  readonly context: Context<GroupsConfig>
  readonly node: NodeIdentity
  readonly identity: NodeCredentials
  readonly builds: BuildFolder
  /** The hub has told of a version that this box may not have. */
  readonly news: { version?: number }
}

/** Reconciler that makes documents of groups, at the hub; its key is `ALL`. */
export const PLAN = 'groups_plan'
/** Reconciler that gets and applies what this box is to have; its key is `ALL`. */
export const BOX = 'groups_box'
export const ALL = 'all'

/** Other boxes, at their hub: none at a member. */
export async function boxesOf({
  context,
  identity,
}: Pick<Parts, 'context' | 'identity'>): Promise<readonly OtherBox[]> {
  if (identity.membership() !== undefined) return []
  return (await context.maybe(boxCallsRef)?.others()) ?? []
}

/** Throws `node_state_conflict` at a box that has a hub. */
export function requireHub({ identity }: Pick<Parts, 'identity'>): void {
  const membership: Membership | undefined = identity.membership()
  if (membership === undefined) return
  throw nodeStateConflict(
    `this box is a member of ${membership.meshName}; groups are set at its root, ${membership.rootUrl}`,
  )
}
