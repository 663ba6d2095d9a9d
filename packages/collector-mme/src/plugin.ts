import { type Context, collectorRef, type Instance, type Plugin, sectionOf } from '@steeple/contracts'
import { pagesOf } from '@steeple/southbound'
import { mmeCollector } from './collector.ts'

/** Sees the sessions of an Open5GS core, for whoever polls collectors. */
export const plugin: Plugin = {
  // The pages of the daemons that it reads, but for those of which the core's driver says where they are.
  doctor: ({ settings }) => {
    const { collector, core } = settings
    if (!collector.enabled || core !== 'core_a') return []
    const told = sectionOf(settings, 'core_a')
    const own = (key: 'mme_url' | 'smf_url' | 'amf_url'): string => (told[key] ? '' : collector[key])
    return pagesOf({ mme: own('mme_url'), smf: own('smf_url'), amf: own('amf_url') }, 'collector')
  },
  setup: async (context: Context): Promise<Instance> => ({
    services: new Map([[collectorRef(context.plugin.id).id, mmeCollector(context)]]),
  }),
}
