import type { ComponentHealth, Context, HssDriver } from '@steeple/contracts'
import type { ProbePace } from './links/document-link.ts'

/** What a look at the other side found. */
interface Probe {
  readonly isOk: boolean
  /** Where it leads to and what is wrong. No credentials, no subscriber. */
  readonly detail: string
  /** How often the other side was found to hold something else than it was left with; 0 while that is not known. */
  readonly changes?: number
}

/** An HSS driver with what the plugin around it needs. */
export interface WriteBackDriver extends HssDriver {
  /** How often to `probe`. */
  readonly pace: ProbePace
  /** Whether the other side answers, and still is what it was. Changes no subscriber; throws when it does not answer. */
  probe(signal: AbortSignal): Promise<Probe>
  /** Removes what the core left of removed subscribers. */
  sweep(signal: AbortSignal): Promise<void>
  close(): Promise<void>
}

const NO_CORE_YET =
  'no core is set up yet: look for one that runs here (the Core page, or svc core adopt), or set one up'

/** What was seen of the other side, and since when it is away. */
interface OutageWatch {
  answered(probe: Probe): void
  failed(why: string): void
  isAway(): boolean
  /** `isNew`: nobody has a SIM here, and no core is configured. */
  health(isNew?: boolean): ComponentHealth
}

/**
 * Watches one driver; nothing is known of its other side yet. `changed` is called each time that it answers again, or was
 * found to hold something else than before.
 */
export function outageWatch(
  { clock, healthChanged }: Pick<Context, 'clock' | 'healthChanged'>,
  driver: string,
  changed: () => void = () => undefined,
): OutageWatch {
  let seen: Pick<ComponentHealth, 'status' | 'detail'> = { status: 'ok', detail: `${driver}: not asked yet` }
  let away: { readonly cause: string; readonly sinceMs: number; last: string } | undefined
  let known = 0
  let hasAnswered = false
  /** Failures, and how many there were when it was still new: those say nothing of the core that is configured since. */
  let failures = 0
  let failuresOfNew = 0
  return {
    answered: ({ isOk, detail, changes = 0 }) => {
      const isOther = away !== undefined || changes !== known
      known = changes
      hasAnswered = true
      const isNews = away !== undefined || isOk !== (seen.status === 'ok')
      away = undefined
      seen = { status: isOk ? 'ok' : 'degraded', detail }
      if (isOther) changed()
      if (isNews) healthChanged()
    },
    failed: (why) => {
      failures += 1
      if (away === undefined) {
        away = { cause: why, sinceMs: clock.monotonicMs(), last: why }
        healthChanged()
      }
      away.last = why
    },
    isAway: () => away !== undefined,
    health: (isNew = false) => {
      if (away === undefined) return { name: 'hss', kind: 'hss', ...seen }
      // What was never there is no outage.
      if (isNew && !hasAnswered) {
        failuresOfNew = failures
        return { name: 'hss', kind: 'hss', status: 'degraded', incident: 'part', detail: NO_CORE_YET }
      }
      if (failures === failuresOfNew)
        return { name: 'hss', kind: 'hss', status: 'ok', detail: `${driver}: not asked yet` }
      const { cause, last, sinceMs } = away
      const since = `away for ${Math.round((clock.monotonicMs() - sinceMs) / 1_000)} s`
      // What came first is the cause: the later words can be its consequence.
      const detail = cause === last ? `${cause} (${since})` : `${cause} (${since}); now: ${last}`
      return { name: 'hss', kind: 'hss', status: 'down', detail }
    },
  }
}
