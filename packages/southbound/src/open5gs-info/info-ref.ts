import { type ServiceRef, serviceRef } from '@steeple/contracts'
import type { CoreInfo, SessionList } from './core-info.ts'
import type { UeList } from './joined-walk.ts'
import type { Walked } from './shared-walk.ts'

/** Phones and sessions of a core. */
export interface CoreLook {
  readonly ues: Walked<UeList>
  /** Undefined where nobody said where the SMF is. */
  readonly sessions: Walked<SessionList> | undefined
}

/** Looks at an Open5GS core. */
export interface Open5gsInfo {
  /** From walks that began at most `ageMs` ago, or that others began since; see `SharedWalk.recent`. */
  look(ageMs: number, signal: AbortSignal): Promise<CoreLook>
}

/** Provided by the driver of the core: who wants to know what the core lists asks it, and the core is asked once. */
export const open5gsInfoRef: ServiceRef<Open5gsInfo> = serviceRef<Open5gsInfo>('open5gs.info', {
  look: 'function',
})

/** Shares the walks of a core, of which the SMF can be asked or not. */
export function open5gsInfo({ ues, sessions }: CoreInfo, hasSmf: boolean = true): Open5gsInfo {
  return {
    look: async (ageMs, signal) => {
      const listed = await ues.recent(ageMs, signal)
      return { ues: listed, sessions: hasSmf ? await sessions.recent(ageMs, signal) : undefined }
    },
  }
}
