import type { Principal, Role } from '@steeple/contracts'
import type { Endpoint } from '../host/endpoint.ts'

/**
 * Whether the principal may use the route.
 *
 * A bootstrap route takes what authenticated as a bootstrap token (it has no role) and, where the route says so,
 * nodes, for their own record. No role, not even admin, opens it: what a bootstrap token does, a person does not do.
 */
export function mayUse(endpoint: Endpoint, principal: Principal, params: unknown): boolean {
  const { role: access, nodeToo } = endpoint.route
  if (access === 'public') return true
  if (access === 'bootstrap' && 'isBootstrap' in principal) return true
  if (access !== 'bootstrap' && access !== 'node' && principal.roles.has(access)) return true
  const isForNodes = access === 'node' || nodeToo === true
  return isForNodes && principal.roles.has('node') && isOwn(endpoint, principal, params)
}

/** An `:id` in the path of a route that nodes may call is a node's: no other gets there, whatever its handler looks at. */
function isOwn(endpoint: Endpoint, principal: Principal, params: unknown): boolean {
  return !endpoint.route.path.split('/').includes(':id') || nodeIdFrom(params) === principal.id
}

/** The node that a path names; undefined when it names none. */
export function nodeIdFrom(params: unknown): string | undefined {
  if (typeof params !== 'object' || params === null || !('id' in params)) return undefined
  return typeof params.id === 'string' ? params.id : undefined
}

/** The role that a refusal names. */
export function neededRole(endpoint: Endpoint): Role | 'bootstrap token' {
  const access = endpoint.route.role
  return access === 'public' || access === 'bootstrap' ? 'bootstrap token' : access
}
