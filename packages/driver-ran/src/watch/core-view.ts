import type { CoreObserved } from '@steeple/contracts'

/** The core sees no radio although the radio says that it is connected: for so long it may be late, ms. */
const SHOWN_AFTER_MS = 30_000
const MENDED_AFTER_MS = 60_000
/** At most one restart for this reason in so long, ms: a core that does not count radios must not end the service. */
const RESTART_EVERY_MS = 600_000

/** What to do about what the core sees. */
export interface CoreVerdict {
  /** Shown in the health; undefined when both agree. */
  readonly disagreement: string | undefined
  readonly isRestartDue: boolean
}

/** Compares the radio's own view of S1 or NG with the core's. */
export interface CoreView {
  /** One look at both; `core` is undefined when the core cannot be asked. */
  look(isConnected: boolean, core: CoreObserved | undefined, nowMs: number): CoreVerdict
}

/** Makes a view that has seen nothing. Times are ms of the monotonic clock. */
export function coreView(): CoreView {
  let sinceMs: number | undefined
  let restartedMs = Number.NEGATIVE_INFINITY
  return {
    look: (isConnected, core, nowMs) => {
      const isMissing = isConnected && core?.radios === 0
      if (!isMissing) {
        sinceMs = undefined
        return { disagreement: undefined, isRestartDue: false }
      }
      sinceMs ??= nowMs
      const forMs = nowMs - sinceMs
      const isRestartDue = forMs >= MENDED_AFTER_MS && nowMs - restartedMs >= RESTART_EVERY_MS
      if (isRestartDue) restartedMs = nowMs
      return {
        disagreement:
          forMs >= SHOWN_AFTER_MS
            ? `the radio says that it is connected, but the core has known none for ${Math.floor(forMs / 1_000)} s`
            : undefined,
        isRestartDue,
      }
    },
  }
}
