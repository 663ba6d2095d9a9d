import { backoffMs, type Context, type HssDriver, hssDriverRef } from '@steeple/contracts'
import { safeText } from '@steeple/telecom'
import type { SimsConfig } from '../config.ts'
import type { HssView } from '../record.ts'
import type { FutilePushes } from './futile.ts'

/** The circuit breaker before the HSS: whichever driver is loaded, and whether it is worth a try now. */
export interface HssBreaker {
  /** The driver to push with; undefined while the configured one is not loaded. */
  driver(): HssDriver | undefined
  view(): HssView
  /** How long to leave the HSS alone, ms; 0 when it may be asked. */
  restMs(): number
  /** A call as a whole failed: rest, longer each time. */
  failed(error: unknown): void
  /** A call was answered. */
  worked(): void
}

/** With the driver's own time to find out, ten seconds after the HSS is back all is pushed. */
const REST = { firstMs: 500, longestMs: 4_000 }

/** Stands in for an HSS that the operator has said there is none of: everything is as it should be. */
const NONE: HssDriver = {
  name: 'none',
  observe: async () => new Map(),
  upsert: async (subscribers) => new Map(subscribers.map(({ imsi }) => [imsi, undefined])),
  remove: async (imsis) => new Map(imsis.map((imsi) => [imsi, undefined])),
  setBlocked: async (imsis) => new Map(imsis.map((imsi) => [imsi, undefined])),
}

/**
 * The breaker of a context. One for all reconcilers, so that a dead HSS is asked by one call at a time only. `onBack` is
 * called when an HSS that was away has answered.
 */
export function hssBreaker(
  context: Context<SimsConfig>,
  { reasonOf: futile }: Pick<FutilePushes, 'reasonOf'>,
  onBack: () => void = () => undefined,
): HssBreaker {
  /** Why the first call of an outage failed, and the last one: the later ones can be its consequence. */
  let first: string | undefined
  let last: string | undefined
  let failures = 0
  let restsUntilMs = 0
  const driver = (): HssDriver | undefined =>
    context.settings.hss.driver === 'none' ? NONE : context.maybe(hssDriverRef)
  return {
    driver,
    view: () => {
      const loaded = driver()
      const problem = first === last ? first : `${first}; now: ${last}`
      if (loaded !== undefined) return { driver: loaded.name, problem, futile }
      const name = context.settings.hss.driver
      return { driver: name, problem: `the HSS driver ${name} is not loaded`, futile }
    },
    restMs: () => Math.max(0, restsUntilMs - context.clock.monotonicMs()),
    failed: (error) => {
      failures += 1
      last = safeText(error)
      first ??= last
      restsUntilMs = context.clock.monotonicMs() + backoffMs(REST, failures, () => 0)
      if (failures === 1) context.log.warn({ reason: last }, 'HSS does not answer')
    },
    worked: () => {
      const wasAway = failures > 0
      if (wasAway) context.log.info({ failures }, 'HSS answers again')
      failures = 0
      first = undefined
      last = undefined
      restsUntilMs = 0
      if (wasAway) onBack()
    },
  }
}
