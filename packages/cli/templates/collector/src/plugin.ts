import { collectorRef, type Plugin } from '@steeple/contracts'
import { fileCollector } from './collector.ts'
import type { SamplePluginConfig } from './config.ts'

/** Reads the sessions and byte counters that a core keeps in a file. The plugin `collectors` polls it and shows its health. */
export const plugin: Plugin<SamplePluginConfig> = {
  setup: async (context) => {
    const { id } = context.plugin
    const collector = fileCollector({ source: id, file: context.config.usage_file, clock: context.clock })
    return { services: new Map([[collectorRef(id).id, collector]]) }
  },
}
