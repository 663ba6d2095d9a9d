import {
  type Authenticator,
  authenticatorRef,
  expandRoles,
  type Plugin,
  type Principal,
} from '@steeple/contracts'
import type { InlinePlugin, TestPrincipal } from '@steeple/testkit'

/** Credentials for tests of plugins that come without `access`. */
export interface StandIn {
  readonly plugin: InlinePlugin
  credential(principal: TestPrincipal): string
}

/** A plugin that provides `access.authenticator` for principals that a test names. */
export function standInAuthenticator(): StandIn {
  const known = new Map<string, Principal>()
  const authenticator: Authenticator = { authenticate: async (token) => known.get(token) }
  const plugin: Plugin = {
    setup: async () => ({ services: new Map([[authenticatorRef.id, authenticator]]) }),
  }
  return {
    plugin: {
      name: '@steeple/testbed-access',
      version: '0.0.1',
      manifest: {
        id: 'testbed-access',
        kind: 'feature',
        contracts: '*',
        config_path: 'testbed_access',
        handover: 'overlap',
        provides: [authenticatorRef.id],
      },
      plugin,
    },
    credential: ({ kind, id, roles }) => {
      const token = `svc_testbed-${known.size}-${id}`
      known.set(token, { kind, id, name: id, roles: expandRoles(roles) })
      return token
    },
  }
}
