import type { CoreDriver, ObservedUe } from '@steeple/contracts'
import { abortable, type CoreConfig } from '@steeple/southbound'
import type { AmfClient } from './amf/amf-client.ts'
import type { SmfClient } from './smf/smf-client.ts'
import { functionStates, type WatchedCore } from './steer/function-states.ts'
import { createKick } from './steer/kick.ts'
import { uesFrom } from './steer/ues.ts'

/** What the driver stands on. */
export interface DriverParts {
  readonly amf: AmfClient
  readonly smf: SmfClient
  readonly watched: WatchedCore
  readonly config: Pick<CoreConfig, 'apply' | 'appliedSha256'>
  readonly render: CoreDriver['render']
}

/** How long the AMF may take to list everybody, ms. */
const LIST_MS = 30_000

/** The driver of a free5GC core. Nothing that it reads of a subscriber outlives the call, but sessions being released. */
export function createDriver({ amf, smf, watched, config, render }: DriverParts): CoreDriver {
  let listing: Promise<readonly ObservedUe[]> | undefined
  /** Who asks while a list is under way gets the same one. */
  const ues = async (signal: AbortSignal): Promise<readonly ObservedUe[]> => {
    signal.throwIfAborted()
    listing ??= amf
      .registrations(AbortSignal.timeout(LIST_MS))
      .then(uesFrom)
      .finally(() => {
        listing = undefined
      })
    return await abortable(listing, signal, LIST_MS)
  }
  const attached = async (signal: AbortSignal): Promise<number | undefined> => {
    try {
      return (await ues(signal)).length
    } catch {
      signal.throwIfAborted()
      return undefined
    }
  }
  return {
    render,
    ues,
    kick: createKick(amf, smf),
    apply: config.apply,
    observe: async (signal) => {
      signal.throwIfAborted()
      const [configSha256, services, attachedUes] = await Promise.all([
        config.appliedSha256().catch(() => undefined),
        functionStates(watched, signal),
        attached(signal),
      ])
      // No interface of free5GC lists the gNBs.
      return { configSha256, services, radios: undefined, attachedUes }
    },
  }
}
