import { type Context, collectorRef, type Instance, type Plugin } from '@steeple/contracts'
import { mmeCollector } from './collector.ts'

/** Sees the sessions of an Open5GS core, for whoever polls collectors. */
export const plugin: Plugin = {
  setup: async (context: Context): Promise<Instance> => ({
    services: new Map([[collectorRef(context.plugin.id).id, mmeCollector(context)]]),
  }),
}
