import type { Principal, Role } from '@steeple/contracts'
import type { Endpoint } from '../host/endpoint.ts'

/**
 * Whether the principal may use the route.
 *
 * A bootstrap route takes what authenticated as a bootstrap token (it has no role) and, where the route says so,
 * nodes. No role, not even admin, opens it: what a bootstrap token does, a person does not do.
 */
export function mayUse(endpoint: Endpoint, principal: Principal): boolean {
  const access = endpoint.route.role
  if (access === 'public') return true
  if (endpoint.route.nodeToo === true && principal.roles.has('node')) return true
  if (access === 'bootstrap') return 'isBootstrap' in principal
  return principal.roles.has(access)
}

/** The role that a refusal names. */
export function neededRole(endpoint: Endpoint): Role | 'bootstrap token' {
  const access = endpoint.route.role
  return access === 'public' || access === 'bootstrap' ? 'bootstrap token' : access
}
