import { access, constants, readdir } from 'node:fs/promises'
import {
  type Context,
  collectorRef,
  countText,
  type Finding,
  type Instance,
  type Plugin,
  type Settings,
} from '@steeple/contracts'
import { free5gcOamRef } from '@steeple/southbound'
import { createCdrCollector } from './collector.ts'
import { cdrMetrics } from './metrics.ts'

const NAME = 'charging'
const REMEDY =
  'mount the directory into which the CHF writes (its /tmp) at core_b.cdr_dir, and let the service read it'

/** Whether the charging records of a free5GC core can be read, where the configuration wants them. */
export async function checkCharging({ core, core_b, collector }: Settings): Promise<readonly Finding[]> {
  const { cdr_dir: dir } = core_b
  if (core !== 'core_b' || dir === '') return []
  if (!collector.enabled) {
    const remedy = 'set collector.enabled, or leave core_b.cdr_dir empty'
    return [{ name: NAME, status: 'warn', detail: `${dir} is not read`, remedy }]
  }
  try {
    const names = await readdir(dir)
    await access(dir, constants.X_OK)
    const files = names.filter((name) => name.endsWith('.cdr')).length
    return [
      { name: NAME, status: 'ok', detail: `${dir} holds ${countText(files, 'file')} of charging records` },
    ]
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'error'
    return [{ name: NAME, status: 'fail', detail: `${dir} cannot be read: ${code}`, remedy: REMEDY }]
  }
}

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
