import type { Clock, ComponentHealth, Log } from '@steeple/contracts'

/** What watching the HSS needs. */
export interface DeafHssParts {
  readonly clock: Clock
  readonly log: Log
  /** Restarts the HSS; false when it is not for the service to do that. */
  restart(signal: AbortSignal): Promise<boolean>
  mayMend(): boolean
}

/** Whether the HSS hears of what is written into its database. */
export interface DeafHss {
  /** A cancel that was asked for did not show within the time of a kick. */
  unheard(signal: AbortSignal): Promise<void>
  /** One has shown. */
  heard(): void
  health(): ComponentHealth
}

/** So many in a row, and the HSS is taken for one that no longer listens: one alone may be the phone's. */
const PATIENCE = 2
/** Between two restarts for this, ms. */
const RESTART_REST_MS = 600_000

/**
 * Notices an HSS whose change stream has died: the real one never opens it again after its database went away, and
 * whoever is cut off keeps the connection. It is restarted, once for each time that it went deaf.
 */
export function deafHss({ clock, log, restart, mayMend }: DeafHssParts): DeafHss {
  let unheard = 0
  let restartedAtMs: number | undefined
  let isHeard = false
  const isDeaf = (): boolean => unheard >= PATIENCE
  return {
    unheard: async (signal) => {
      unheard += 1
      isHeard = false
      const nowMs = clock.monotonicMs()
      const isEarly = restartedAtMs !== undefined && nowMs - restartedAtMs < RESTART_REST_MS
      if (!isDeaf() || !mayMend() || isEarly) return
      restartedAtMs = nowMs
      if (await restart(signal)) log.warn({ cancels: unheard }, 'HSS restarted: it did not hear of changes')
    },
    heard: () => {
      unheard = 0
      restartedAtMs = undefined
      isHeard = true
    },
    health: () => {
      const base = { name: 'hss_events', kind: 'core' } as const
      if (!isDeaf())
        return {
          ...base,
          status: 'ok',
          detail: isHeard
            ? 'cancels of the HSS reach the phones'
            : 'whether cancels of the HSS reach the phones is not known yet: none was seen to',
        }
      const done = restartedAtMs === undefined ? 'it has to be restarted' : 'it was restarted'
      return {
        ...base,
        status: 'degraded',
        detail: `the HSS did not act on ${unheard} cancels in a row: its change stream is dead, or the database is no replica set; ${done}`,
      }
    },
  }
}
