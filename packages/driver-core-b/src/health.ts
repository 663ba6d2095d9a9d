import type { ComponentHealth } from '@steeple/contracts'
import type { AmfClient } from './amf/amf-client.ts'
import type { SmfClient } from './smf/smf-client.ts'

/** Whether AMF and SMF let themselves be asked, as of the last look. */
export interface SteerHealth {
  look(signal: AbortSignal): Promise<void>
  components(): readonly ComponentHealth[]
}

/** Longest look, ms. */
const LOOK_MS = 5_000

/** Nothing has been looked at yet: both count as well. */
export function steerHealth(amf: AmfClient, smf: SmfClient): SteerHealth {
  const seen = new Map<string, ComponentHealth>()
  const note = (name: string, status: ComponentHealth['status'], detail: string): void => {
    seen.set(name, { name, kind: 'core', status, detail })
  }
  note('amf', 'ok', 'not asked yet')
  note('smf', 'ok', 'not asked yet')
  const ask = async (
    name: string,
    fault: 'down' | 'degraded',
    lost: string,
    ping: (signal: AbortSignal) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> => {
    try {
      await ping(AbortSignal.any([signal, AbortSignal.timeout(LOOK_MS)]))
      note(name, 'ok', 'its OAM service answers')
    } catch (error) {
      signal.throwIfAborted()
      const why = error instanceof Error ? error.message : String(error)
      note(name, fault, `${lost}: ${why}`)
    }
  }
  return {
    look: async (signal) => {
      await Promise.all([
        ask('amf', 'down', 'nobody can be listed or cut off', (bound) => amf.ping(bound), signal),
        ask(
          'smf',
          'degraded',
          'that a session is gone cannot be confirmed',
          (bound) => smf.ping(bound),
          signal,
        ),
      ])
    },
    components: () => [...seen.values()],
  }
}
