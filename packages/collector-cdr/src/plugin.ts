import { type Context, collectorRef, type Instance, type Plugin } from '@steeple/contracts'
import { free5gcOamRef } from '@steeple/southbound'
import { createCdrCollector } from './collector.ts'
import { checkCharging } from './doctor.ts'
import { cdrMetrics } from './metrics.ts'

/** Collects the volumes in the charging records that a free5GC CHF writes. */
export const plugin: Plugin = {
  doctor: ({ settings }) => checkCharging(settings),
  setup: async (context: Context): Promise<Instance> => {
    const { cdr_dir: dir } = context.settings.core_b
    const oam = () => context.maybe(free5gcOamRef)
    const collector = createCdrCollector({ dir, clock: context.clock, metrics: cdrMetrics(context), oam })
    return { services: new Map([[collectorRef(context.plugin.id).id, collector]]) }
  },
}
