import { type CoreDriver, coreDriverRef, type Instance, type TxGate, txGateRef } from '@steeple/contracts'
import type { InlinePlugin } from '@steeple/testkit'

/** A gate and a core in the place of those plugins. */
export function providers(gate: TxGate, core: Partial<CoreDriver>): InlinePlugin {
  return {
    name: '@example/providers',
    version: '1.0.0',
    plugin: {
      setup: async (): Promise<Instance> => ({
        services: new Map<string, object>([
          [txGateRef.id, gate],
          [coreDriverRef.id, core],
        ]),
      }),
    },
    manifest: {
      id: 'providers',
      kind: 'feature',
      contracts: '^0.1.0',
      config_path: 'providers',
      provides: [txGateRef.id, coreDriverRef.id],
      handover: 'overlap',
      isolation: 'inline',
    },
  }
}
