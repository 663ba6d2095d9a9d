import type {
  BootstrapTokens,
  Context,
  NodeCa,
  NodeCredentials,
  NodeIdentity,
  NodeRegistry,
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
