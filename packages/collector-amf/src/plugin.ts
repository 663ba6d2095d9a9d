import { type Context, collectorRef, type Instance, type Plugin } from '@steeple/contracts'
import { amfCollector } from './collector.ts'

/** Sees the sessions of a free5GC core, for whoever polls collectors. */
export const plugin: Plugin = {
  setup: async (context: Context): Promise<Instance> => ({
    services: new Map([[collectorRef(context.plugin.id).id, amfCollector(context)]]),
  }),
}
