import {
  type ComponentHealth,
  type Context,
  type CoreDriver,
  coreDriverRef,
  type Instance,
  type Plugin,
} from '@steeple/contracts'
import { looksOf, open5gsInfoRef, pagesOf } from '@steeple/southbound'
import { coreA } from './core-driver.ts'
import { coreWatch } from './core-watch.ts'
import { poolAddresses, poolsInForce } from './mend/pool-addresses.ts'

/** Renders, watches and steers an Open5GS core. */
export const plugin: Plugin = {
  doctor: ({ settings }) => {
    const { mme_url: mme, smf_url: smf, amf_url: amf } = settings.core_a
    return [...looksOf(settings, 'core_a'), ...pagesOf({ mme, smf, amf }, 'core_a')]
  },
  setup: async (context: Context): Promise<Instance> => {
    const core = coreA(context)
    const { driver } = core
    const watch = coreWatch(context, core)
    context.every(watch.everyMs, watch.look, 'each')
    context.every(
      watch.everyMs,
      poolAddresses(context, () => poolsInForce(context.settings)),
      'machine',
    )
    context.every(core.sessions.everyMs, core.sessions.look, 'machine')
    context.every(core.registration.everyMs, core.registration.look, 'each')
    return {
      services: new Map<string, object>([
        [coreDriverRef.id, counted(driver, context)],
        [open5gsInfoRef.id, core.info],
      ]),
      health: async (): Promise<readonly ComponentHealth[]> => [
        ...(await watch.freshHealth(context.retiring)),
        core.sessions.health(),
        core.deaf.health(),
        core.registration.health(),
      ],
      start: async () => {
        // Not awaited: a core that is away must not keep the service from starting.
        watch.look(context.retiring).catch(() => undefined)
      },
    }
  },
}

/** The driver with its kicks counted. */
function counted(driver: CoreDriver, { metrics, clock }: Context): CoreDriver {
  const kicks = metrics.counter('svc_driver_core_a_kicks_total', 'Kicks of phones, by how they ended.', [
    'result',
  ])
  const seconds = metrics.histogram(
    'svc_driver_core_a_kick_seconds',
    'Duration of kicks, until the phone was seen to be off or the kick was given up.',
    [0.05, 0.1, 0.25, 0.5, 1, 2, 3, 5, 10],
  )
  return {
    ...driver,
    kick: async (imsi, signal) => {
      const from = clock.monotonicMs()
      try {
        const result = await driver.kick(imsi, signal)
        kicks.inc({ result })
        return result
      } catch (error) {
        kicks.inc({ result: 'failed' })
        throw error
      } finally {
        seconds.observe((clock.monotonicMs() - from) / 1000)
      }
    },
  }
}
