import {
  type BootstrapTokens,
  type Context,
  type Membership,
  type NodeCa,
  type NodeCredentials,
  type NodeIdentity,
  type NodeRegistry,
  nodeStateConflict,
} from '@steeple/contracts'
import type { PeeringConfig } from '../config.ts'
import type { MemberList } from './member-list.ts'
import type { MembershipState } from './membership-state.ts'
import type { RevocationList } from './revocation-list.ts'

/** What the routes and the agent of enrollment share. */
export interface EnrollParts {
  readonly context: Context<PeeringConfig>
  readonly authority: NodeCa
  readonly identity: NodeCredentials
  readonly node: NodeIdentity
  readonly tokens: BootstrapTokens
  readonly nodes: NodeRegistry
  /** Who is in the mesh whose root this node is. */
  readonly memberList: MemberList
  /** The revoked certificates of this node's own CA. */
  readonly revocations: RevocationList
  /** What this node has heard as a member of another one's mesh. */
  readonly membershipState: MembershipState
}

/** The name of the mesh whose root this node is. */
export function ownMeshName({ context, node }: Pick<EnrollParts, 'context' | 'node'>): string {
  return context.config.name === '' ? node.name : context.config.name
}

/** Throws `node_state_conflict` where this node takes part in no mesh. */
export function requireTakingPart({ config }: EnrollParts['context']): void {
  if (!config.enabled) throw nodeStateConflict('this node takes part in no mesh; set peering.enabled')
}

/** The same at a member, too; it may do that at its root. */
export function requireRoot({ context, identity }: EnrollParts, verb: 'join' | 'invite'): void {
  requireTakingPart(context)
  const membership = identity.membership()
  if (membership !== undefined)
    throw nodeStateConflict(
      `this node is itself a member of the mesh ${membership.meshName}; ${verb} at its root, ${membership.rootUrl}`,
    )
}

/** Throws `node_state_conflict` at the root of its own mesh. */
export function membershipOf({ identity }: EnrollParts): Membership {
  const membership = identity.membership()
  if (membership === undefined)
    throw nodeStateConflict('this node is the root of its own mesh; ask this of a member')
  return membership
}
