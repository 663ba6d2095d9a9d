import { type Context, type HssDriver, hssDriverRef } from '@steeple/contracts'
import type { SimsConfig } from '../config.ts'
import type { HssView } from '../record.ts'

/** The way to the HSS: whichever driver is loaded, and whether it is worth a try now. */
export interface HssLink {
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

const FIRST_REST_MS = 500
const LONGEST_REST_MS = 15_000

/** Stands in for an HSS that the operator has said there is none of: everything is as it should be. */
const NONE: HssDriver = {
  name: 'none',
  observe: async () => new Map(),
  upsert: async (subscribers) => new Map(subscribers.map(({ imsi }) => [imsi, undefined])),
  remove: async (imsis) => new Map(imsis.map((imsi) => [imsi, undefined])),
  setBlocked: async (imsis) => new Map(imsis.map((imsi) => [imsi, undefined])),
}

/** The link of a context. One for all reconcilers, so that a dead HSS is asked by one call at a time only. */
export function hssLink(context: Context<SimsConfig>): HssLink {
  let problem: string | undefined
  let failures = 0
  let restsUntilMs = 0
  const driver = (): HssDriver | undefined =>
    context.settings.hss.driver === 'none' ? NONE : context.maybe(hssDriverRef)
  return {
    driver,
    view: () => {
      const loaded = driver()
      if (loaded !== undefined) return { driver: loaded.name, problem }
      const name = context.settings.hss.driver
      return { driver: name, problem: `the HSS driver ${name} is not loaded` }
    },
    restMs: () => Math.max(0, restsUntilMs - context.clock.monotonicMs()),
    failed: (error) => {
      failures += 1
      problem = safeText(error)
      restsUntilMs =
        context.clock.monotonicMs() +
        Math.min(LONGEST_REST_MS, FIRST_REST_MS * 2 ** Math.min(failures - 1, 10))
      if (failures === 1) context.log.warn({ reason: problem }, 'HSS does not answer')
    },
    worked: () => {
      if (failures > 0) context.log.info({ failures }, 'HSS answers again')
      failures = 0
      problem = undefined
      restsUntilMs = 0
    },
  }
}

/** Runs of hex digits as long as a key, first: they can begin with digits. Runs of digits as long as an IMSI but rates. */
const PERSONAL = /[0-9a-fA-F]{32,}|\d{6,}(?!\d| [kMGT]?bit\/s)/g
const MOST_CHARACTERS = 200

/**
 * The words of an error without anything that could be an IMSI or a key. A large number is left when it is a rate
 * (`2147483647 bit/s`) or written in groups of three digits (`2 147 483 647`).
 */
export function safeText(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  return text.replaceAll(PERSONAL, '…').replaceAll(/\s+/g, ' ').slice(0, MOST_CHARACTERS)
}
