import { type Context, coreDriverRef, type Instance, type Plugin } from '@steeple/contracts'
import { free5gcOamRef, looksOf } from '@steeple/southbound'
import { createCoreB } from './core-b.ts'
import { createHttpClient } from './sbi/http-client.ts'

/** How often AMF and SMF are asked whether they are there, ms. */
const LOOK_MS = 15_000
/** Longest good-bye to the NRF, ms. */
const LEAVE_MS = 2_000

/** Renders, applies, watches and steers a free5GC core (5G standalone). */
export const plugin: Plugin = {
  doctor: ({ settings }) => {
    const { amf_oam_url: amf, smf_oam_url: smf } = settings.core_b
    return [
      ...looksOf(settings, 'core_b'),
      { name: 'amf', url: amf, key: 'core_b.amf_oam_url' },
      ...(smf === '' ? [] : [{ name: 'smf', url: smf, key: 'core_b.smf_oam_url' }]),
    ]
  },
  setup: async (context: Context): Promise<Instance> => {
    const http = createHttpClient()
    context.defer(() => http.close())
    const { driver, health, tokens, oam, registration } = createCoreB(context, http)
    context.every(LOOK_MS, health.look, 'each')
    context.every(registration.everyMs, registration.look, 'each')
    return {
      services: new Map<string, object>([
        [coreDriverRef.id, driver],
        [free5gcOamRef.id, oam],
      ]),
      health: async () => [...health.components(), registration.health()],
      start: async () => {
        // Not awaited: a core that is down must not keep the service from starting.
        health.look(context.retiring).catch(() => undefined)
      },
      stop: async (why) => {
        // The next copy is the same to the NRF.
        if (why !== 'upgrade') await tokens.leave(AbortSignal.timeout(LEAVE_MS))
      },
    }
  },
}
