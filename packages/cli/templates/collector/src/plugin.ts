import { collectorRef, type Plugin } from '@steeple/contracts'
import { fileCollector } from './collector.ts'
import { type SamplePluginConfig, samplePluginConfig } from './config.ts'

/** Reads the byte counters that a core keeps in a file. */
export const plugin: Plugin<SamplePluginConfig> = {
  config: samplePluginConfig,
  setup: async (context) => {
    const file = context.config.usage_file
    const { id } = context.plugin
    return {
      services: new Map([[collectorRef(id).id, fileCollector({ source: id, file, clock: context.clock })]]),
      health: async () => [
        file === ''
          ? { name: id, kind: 'collector', status: 'degraded', detail: 'set sample_plugin.usage_file' }
          : { name: id, kind: 'collector', status: 'ok', detail: `reads ${file}` },
      ],
    }
  },
}
