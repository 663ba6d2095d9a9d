import { type ServiceRef, serviceRef } from '@steeple/contracts'

/** What the lifecycle asks the mesh. While nobody provides it the node has joined none. */
export interface MeshMembership {
  /** Whether this node is a member, and whether it exchanges routes with a peer and translates addresses. */
  state(): Promise<{ readonly isJoined: boolean; readonly hasRoutes: boolean }>
}
/** The service that a mesh plugin provides. */
export const meshMembershipRef: ServiceRef<MeshMembership> = serviceRef<MeshMembership>('mesh.membership')
