import { type Instance, type TxGate, txGateRef } from '@steeple/contracts'
import type { InlinePlugin } from '@steeple/testkit'

/** A gate in the place of that plugin; `onSetup` is given how to say that it changed. */
export function providers(gate: TxGate, onSetup: (changed: () => void) => void): InlinePlugin {
  return {
    name: '@example/providers',
    version: '1.0.0',
    plugin: {
      setup: async (context): Promise<Instance> => {
        onSetup(() => context.changed(txGateRef))
        return { services: new Map([[txGateRef.id, gate]]) }
      },
    },
    manifest: {
      id: 'providers',
      kind: 'feature',
      contracts: '*',
      config_path: 'providers',
      provides: [txGateRef.id],
      handover: 'overlap',
    },
  }
}
