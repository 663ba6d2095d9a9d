import { hssDriverRef, type Plugin } from '@steeple/contracts'
import { hssDriver } from './hss-driver.ts'
import { subscriberStore } from './subscriber-store.ts'

/** No answer to a question of the health takes longer, ms. */
const LIMIT_MS = 1_000

/** An HSS in memory. The desired subscribers are pushed again whenever it starts empty. */
export const plugin: Plugin = {
  setup: async (context) => {
    const store = subscriberStore()
    context.defer(() => store.close())
    return {
      services: new Map([[hssDriverRef.id, hssDriver(store)]]),
      health: async () => [
        {
          name: context.plugin.id,
          kind: 'hss',
          // `ok` once src/subscriber-store.ts talks to an HSS.
          status: 'degraded',
          detail: `a stand-in: ${await store.count(AbortSignal.timeout(LIMIT_MS))} subscribers in memory, nobody can attach`,
        },
      ],
    }
  },
}
