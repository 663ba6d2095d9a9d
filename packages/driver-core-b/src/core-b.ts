import type { Context, CoreDriver, ObservedUe, Settings } from '@steeple/contracts'
import { type CoreConfig, type CoreConfigParts, createCoreConfig } from '@steeple/southbound'
import { createAmfClient } from './amf/amf-client.ts'
import { createDriver } from './driver.ts'
import { type SteerHealth, steerHealth } from './health.ts'
import { type SteerMetrics, steerMetrics } from './metrics.ts'
import { coreUrls } from './places.ts'
import { renderSettings } from './render/core-plan.ts'
import { daemonsOf } from './render/daemons.ts'
import { isNetworkFunction } from './render/functions.ts'
import { renderCore } from './render/render.ts'
import { createCaller } from './sbi/caller.ts'
import type { HttpClient } from './sbi/http-client.ts'
import { createTokenSource, type TokenSource } from './sbi/token-source.ts'
import { createSmfClient } from './smf/smf-client.ts'
import { problemOf, type WatchedCore } from './steer/function-states.ts'

/** Ten functions that each wait for the NRF take longer than those of other cores, ms. */
const HEALTH_MS = 60_000

/** A free5GC core as this node holds it. */
export interface CoreB {
  readonly driver: CoreDriver
  readonly config: CoreConfig
  readonly health: SteerHealth
  readonly tokens: TokenSource
}

/** Puts the parts together; opens nothing. `engine` and `limits` are for tests. */
export function createCoreB(
  context: Context,
  http: HttpClient,
  more: Pick<CoreConfigParts, 'engine' | 'limits'> = {},
): CoreB {
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
    ...configParts(watched, render, () => context.settings),
    // free5GC serves no LTE.
    ues: async (technology, signal) => (technology === 'nr' ? await driver.ues(signal) : []),
    ...more,
  })
  const driver = counted(createDriver({ amf, smf, watched, config, render }), metrics)
  const health = steerHealth({
    amf,
    smf,
    watched,
    isRequired: () => context.settings.southbound.driver === 'container',
    seen: metrics.daemon,
  })
  return { driver, config, tokens, health }
}

/** What the shared part of core drivers needs of this one. */
function configParts(
  watched: WatchedCore,
  render: CoreDriver['render'],
  settings: () => Settings,
): CoreConfigParts {
  return {
    core: 'core_b',
    place: ({ core_b }) => ({
      configDir: core_b.config_dir,
      containers: core_b.containers,
      addresses: core_b.addresses,
    }),
    render,
    daemons: daemonsOf,
    probe: async (daemon, signal, addresses) => {
      if (!isNetworkFunction(daemon)) return undefined
      const urls = coreUrls(() => {
        const { core_b } = settings()
        return { ...settings(), core_b: { ...core_b, addresses } }
      })
      const problem = await problemOf(daemon, { ...watched, urls }, signal)
      // Where a function is not to be found from here, its container is all there is to judge by.
      const isHidden = problem?.isUnknownName === true || !urls.isNamed(daemon)
      return isHidden ? undefined : problem?.words
    },
    limits: { healthMs: HEALTH_MS },
  }
}

/** The driver with its calls counted. */
function counted(driver: CoreDriver, metrics: SteerMetrics): CoreDriver {
  return {
    ...driver,
    ues: async (signal): Promise<readonly ObservedUe[]> => {
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
