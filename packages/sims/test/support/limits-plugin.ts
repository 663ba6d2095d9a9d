import { type Plugin, type PolicyReader, policyRef } from '@steeple/contracts'
import type { InlinePlugin } from '@steeple/testkit'

/** A policy with these limits per hour. */
export function limitsPlugin(rate_limits: Readonly<Record<string, number>>): InlinePlugin {
  // What the code under test reads of a policy.
  const reader = {
    bundle: () => ({ apns: ['internet'], rate_limits, sim_swap_cooldown_hours: 0 }),
  } as unknown as PolicyReader
  const plugin: Plugin = { setup: async () => ({ services: new Map([[policyRef.id, reader]]) }) }
  return {
    name: '@example/limits',
    version: '1.0.0',
    plugin,
    manifest: {
      id: 'fake-limits',
      kind: 'feature',
      contracts: '*',
      config_path: 'fake_limits',
      provides: [policyRef.id],
      handover: 'overlap',
    },
  }
}
