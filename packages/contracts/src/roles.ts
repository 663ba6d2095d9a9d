/** A role of the v1 contract, section 1. Roles form a lattice: see `ROLE_INCLUDES`. */
export type Role = 'viewer' | 'operator' | 'sim:issuer' | 'sim:admin' | 'admin' | 'node'

/** What a route asks for: a role, nobody in particular (`public`), or an unused bootstrap token. */
export type Access = Role | 'public' | 'bootstrap'

/** Every role, in the order of the contract's table. */
export const ROLES: readonly Role[] = ['viewer', 'operator', 'sim:issuer', 'sim:admin', 'admin', 'node']

/** The roles that each role includes directly. Contract section 1. */
export const ROLE_INCLUDES: Readonly<Record<Role, readonly Role[]>> = {
  viewer: [],
  operator: ['viewer'],
  'sim:issuer': ['viewer'],
  'sim:admin': ['sim:issuer'],
  admin: ['operator', 'sim:admin'],
  node: [],
}

/** The given roles and all that they include, without duplicates, in no particular order. */
export function expandRoles(roles: readonly Role[]): ReadonlySet<Role> {
  const held = new Set<Role>()
  const queue = [...roles]
  for (let role = queue.pop(); role !== undefined; role = queue.pop()) {
    if (held.has(role)) continue
    held.add(role)
    queue.push(...ROLE_INCLUDES[role])
  }
  return held
}

/** Who did something. `roles` are expanded: what is not in it is not allowed. Contract section 1. */
export interface Principal {
  readonly kind: 'admin-env' | 'user' | 'token' | 'node' | 'cli' | 'system'
  readonly id: string
  readonly name: string
  readonly roles: ReadonlySet<Role>
  /** When the credential that it came with ends, ms since the epoch; absent when it does not. */
  readonly expiresAtMs?: number
  /** The credential that it came with, where the id does not say: `session:<id>`, `certificate:<serial>`. */
  readonly via?: string
}

/** The principal of work that no person asked for: reconciler, scheduler, self-disarm. `id` says which part. */
export function systemPrincipal(id: string): Principal {
  return { kind: 'system', id, name: id, roles: new Set() }
}
