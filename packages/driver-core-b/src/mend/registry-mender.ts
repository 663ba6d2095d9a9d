import type { Log } from '@steeple/contracts'
import type { NetworkFunction } from '../render/functions.ts'

export interface RegistryMenderParts {
  readonly log: Log
  mayMend(): boolean
  /** Restarts functions with the files that they have, and those that follow them; false when it is not for us to do that. */
  restart(functions: readonly NetworkFunction[], why: string, signal: AbortSignal): Promise<boolean>
}

/** Brings functions back that the NRF has forgotten: nobody registers there a second time by himself. */
export interface RegistryMender {
  /** Told at each look whom the NRF does not have. */
  look(missing: readonly NetworkFunction[], signal: AbortSignal): Promise<void>
  /** What came of it, for health; empty when nothing was to be done. */
  words(): string
}

/** Looks in a row that miss somebody: one that restarts is missed by one alone. */
const LOOKS = 2
/** Restarts until it is left to somebody else: what two of them do not mend a third will not. */
const MOST_RESTARTS = 2

export function registryMender({ log, mayMend, restart }: RegistryMenderParts): RegistryMender {
  let looks = 0
  let restarts = 0
  return {
    look: async (missing, signal) => {
      if (missing.length === 0) {
        looks = 0
        restarts = 0
        return
      }
      looks += 1
      if (looks < LOOKS || restarts >= MOST_RESTARTS || !mayMend()) return
      looks = 0
      try {
        if (!(await restart(missing, 'the NRF does not have it any more', signal))) return
        restarts += 1
        log.warn({ functions: missing }, 'functions restarted that the NRF had forgotten')
      } catch (error) {
        signal.throwIfAborted()
        restarts += 1
        log.error({ err: error, functions: missing }, 'functions that the NRF has forgotten do not come back')
      }
    },
    words: () => (restarts < MOST_RESTARTS ? '' : `restarting them ${restarts} times did not help`),
  }
}
