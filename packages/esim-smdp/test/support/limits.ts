import { type Plugin, type PolicyReader, policyRef } from '@steeple/contracts'
import type { InlinePlugin } from '@steeple/testkit'

/** A policy with these limits per hour, and no cool-down between swaps. */
export function limits(rate_limits: Readonly<Record<string, number>>): InlinePlugin {
  const perHour = Object.fromEntries(
    Object.entries(rate_limits).map(([name, limit]) => [`${name}_per_hour`, limit]),
  )
  // What the code under test reads of a policy.
  const reader = {
    bundle: () => ({ apns: ['internet'], rate_limits: perHour, sim_swap_cooldown_hours: 0 }),
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
