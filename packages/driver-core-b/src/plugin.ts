import {
  type Context,
  type CoreDriver,
  coreDriverRef,
  type Instance,
  type ObservedUe,
  type Plugin,
} from '@steeple/contracts'
import { type CoreConfigParts, createCoreConfig } from '@steeple/southbound'
import { createAmfClient } from './amf/amf-client.ts'
import { createDriver } from './driver.ts'
import { steerHealth } from './health.ts'
import { type SteerMetrics, steerMetrics } from './metrics.ts'
import { coreUrls } from './places.ts'
import { renderSettings } from './render/core-plan.ts'
import { daemonsOf } from './render/daemons.ts'
import { isNetworkFunction } from './render/functions.ts'
import { renderCore } from './render/render.ts'
import { createCaller } from './sbi/caller.ts'
import { createHttpClient } from './sbi/http-client.ts'
import { createTokenSource } from './sbi/token-source.ts'
import { createSmfClient } from './smf/smf-client.ts'
import { problemOf, type WatchedCore } from './steer/function-states.ts'

/** How often AMF and SMF are asked whether they are there, ms. */
const LOOK_MS = 15_000
/** Longest good-bye to the NRF, ms. */
const LEAVE_MS = 2_000
/** Ten functions that each wait for the NRF take longer than those of other cores, ms. */
const HEALTH_MS = 60_000

/** Renders, applies, watches and steers a free5GC core (5G standalone). */
export const plugin: Plugin = {
  setup: async (context: Context): Promise<Instance> => {
    const http = createHttpClient()
    context.defer(() => http.close())
    const urls = coreUrls(() => context.settings)
    const metrics = steerMetrics(context)
    const tokens = createTokenSource({
      http,
      clock: context.clock,
      nrfUrl: urls.nrf,
      requested: metrics.token,
    })
    const caller = createCaller(http, tokens)
    const amf = createAmfClient(caller, urls.amf)
    const smf = createSmfClient(caller, urls.smf)
    const watched: WatchedCore = { http, urls, hasCharging: () => context.settings.core_b.charging }
    const render: CoreDriver['render'] = async (desired) =>
      renderCore(desired, renderSettings(context.settings))
    const config = createCoreConfig(context, {
      ...configParts(watched, render),
      ues: (technology, signal) => phonesOver(technology, driver, signal),
    })
    const driver = counted(createDriver({ amf, smf, watched, config, render }), metrics)
    const health = steerHealth(amf, smf)
    context.every(LOOK_MS, health.look)
    return {
      services: new Map([[coreDriverRef.id, driver]]),
      reconcilers: [config.reconciler],
      routes: config.routes,
      health: async () => [...config.health(), ...health.components()],
      start: async () => {
        // Not awaited: a core that is down must not keep the service from starting.
        health.look(context.retiring).catch(() => undefined)
      },
      // The next copy is the same to the NRF.
      stop: async (why) => (why === 'upgrade' ? undefined : tokens.leave(AbortSignal.timeout(LEAVE_MS))),
    }
  },
}

/** What the shared part of core drivers needs of this one. */
function configParts(watched: WatchedCore, render: CoreDriver['render']): CoreConfigParts {
  return {
    core: 'core_b',
    place: ({ core_b }) => ({
      configDir: core_b.config_dir,
      containers: core_b.containers,
      addresses: core_b.addresses,
    }),
    render,
    daemons: daemonsOf,
    probe: async (daemon, signal) => {
      if (!isNetworkFunction(daemon)) return undefined
      const problem = await problemOf(daemon, watched, signal)
      // Where a function is not to be found from here, its container is all there is to judge by.
      const isHidden = problem?.isUnknownName === true || !watched.urls.isNamed(daemon)
      return isHidden ? undefined : problem?.words
    },
    limits: { healthMs: HEALTH_MS },
  }
}

/** free5GC serves no LTE. */
async function phonesOver(
  technology: 'lte' | 'nr',
  driver: CoreDriver,
  signal: AbortSignal,
): Promise<readonly ObservedUe[]> {
  return technology === 'nr' ? await driver.ues(signal) : []
}

/** The driver with its calls counted. */
function counted(driver: CoreDriver, metrics: SteerMetrics): CoreDriver {
  return {
    ...driver,
    ues: async (signal) => {
      const ues = await metrics.timed('list', () => driver.ues(signal))
      metrics.registered(ues.length)
      return ues
    },
    kick: async (imsi, signal) => {
      try {
        const result = await metrics.timed('kick', () => driver.kick(imsi, signal))
        metrics.kicked(result)
        return result
      } catch (error) {
        metrics.kicked('failed')
        throw error
      }
    },
  }
}
