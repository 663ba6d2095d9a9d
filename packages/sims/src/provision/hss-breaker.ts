import {
  type BatchResult,
  backoffMs,
  type Context,
  countText,
  type HssDriver,
  hssDriverRef,
  type Imsi,
  type Outcome,
  untilAborted,
  visitorsRef,
} from '@steeple/contracts'
import { safeText } from '@steeple/telecom'
import type { SimsConfig } from '../config.ts'
import type { SimsParts } from '../parts.ts'
import { countUnsynced, type SimRow } from '../store/sim-store.ts'

/** How often everybody whom the HSS holds is counted: it reads all of its subscribers for that. */
export const SURVEY_MS = 60_000

/** How many subscribers of the HSS are not of this service; they are left alone. */
export interface OthersInHss {
  look(signal: AbortSignal): Promise<void>
  /** Undefined while nothing is known. */
  count(): number | undefined
  /** In words; empty while nothing is known, and when there is nobody. */
  view(): string
}

/** Nobody was counted yet. */
export function othersInHss(parts: Pick<SimsParts, 'context' | 'hss' | 'counters'>): OthersInHss {
  const { context, hss, counters } = parts
  let others: number | undefined
  /** SIMs whose subscriber the HSS holds; undefined while some of them are under way. */
  const ours = async (): Promise<number | undefined> => {
    const { pending, failed } = await countUnsynced(context.db)
    if (pending + failed > 0) return undefined
    const states = counters.states()
    return (['issued', 'in-use', 'suspended'] as const).reduce(
      (sum, state) => sum + (states.get(state) ?? 0),
      0,
    )
  }
  return {
    look: async (signal) => {
      const driver = hss.restMs() === undefined ? hss.driver() : undefined
      // Nobody is known to be there any more: a count of before would stay for ever.
      if (driver !== undefined && driver.survey === undefined) others = undefined
      const survey: HssDriver['survey'] = driver?.survey
      const before = survey === undefined ? undefined : await ours()
      if (survey === undefined || before === undefined) return
      // Its failure is no news of the HSS: pushes and comparisons tell of those.
      const found = await survey(signal).catch(() => undefined)
      signal.throwIfAborted()
      if (found === undefined || before !== (await ours())) return
      const visitors = (await context.maybe(visitorsRef)?.count()) ?? 0
      others = Math.max(0, found.subscribers - before - visitors)
    },
    count: () => others,
    view: () =>
      others === undefined || others === 0
        ? ''
        : `; ${countText(others, 'subscriber of the HSS is', 'subscribers of the HSS are')} of no SIM here and left alone`,
  }
}

/** Pushes without an effect after which a SIM is left alone. */
const PUSHES_MAX = 3

interface Pushed {
  readonly generation: number
  readonly reason: string
  readonly times: number
}

/** What pushes of SIMs have come to. */
export class UnfixableSubscribers {
  readonly #seen = new Map<string, Pushed>()

  /**
   * The HSS holds that SIM otherwise although it was pushed. True when that was so three times in a row for the same
   * reason without a change of the SIM: another push would not help.
   */
  differs(hash: string, generation: number, reason: string): boolean {
    const last = this.#seen.get(hash)
    const isSame = last !== undefined && last.generation === generation && last.reason === reason
    const times = isSame ? last.times + 1 : 1
    this.#seen.set(hash, { generation, reason, times })
    // The first difference was somebody's doing; each further one outlived a push.
    return times > PUSHES_MAX
  }

  /** The HSS holds it as it should. */
  fits(hash: string): void {
    this.#seen.delete(hash)
  }

  /** Another HSS, or one that is back, is worth new tries. */
  forget(): void {
    this.#seen.clear()
  }

  /** Why a SIM is not pushed any more; undefined while it is. */
  reasonOf(hash: string, generation: number): string | undefined {
    const last = this.#seen.get(hash)
    if (last === undefined || last.generation !== generation || last.times <= PUSHES_MAX) return undefined
    return `pushed ${PUSHES_MAX} times, and the HSS does not keep it: ${last.reason}`
  }

  /** How many are left alone, and the reason of one of them. */
  view(): { readonly sims: number; readonly reason: string | undefined } {
    const left = [...this.#seen.values()].filter(({ times }) => times > PUSHES_MAX)
    return { sims: left.length, reason: left[0]?.reason }
  }
}

/** The circuit breaker before the HSS: whichever driver is loaded, and whether it is worth a try now. */
export interface HssBreaker {
  /** The driver to push with; undefined while the configured one is not loaded. */
  driver(): HssDriver | undefined
  /** The driver's name, or the one that the configuration asks for; and why nothing can be pushed now, as far as that is known. */
  view(): { readonly driver: string; readonly problem: string | undefined }
  /** While there is no driver or the HSS is away: how long to leave it alone, ms; 0 when it may be tried. */
  readonly restMs: () => number | undefined
  /** The outcome of what the HSS could not take: look again after the rest, for this reason or for what is the matter with the HSS. */
  later(reason?: string): Extract<Outcome, { readonly state: 'pending' }>
  /**
   * One call of the driver, bounded in time. Undefined when it failed as a whole: then the HSS rests, longer each time.
   * Throws only when the reconciler itself was told to stop.
   */
  call<T>(signal: AbortSignal, work: (bound: AbortSignal) => Promise<T>): Promise<T | undefined>
  /** As `call`, of one that writes: the error of each of `imsis`, in their order. */
  write(
    signal: AbortSignal,
    imsis: readonly Imsi[],
    work: (bound: AbortSignal) => Promise<BatchResult>,
  ): Promise<readonly (Error | undefined)[] | undefined>
  /** A call was answered, or another HSS is there. */
  worked(): void
}

/** With the driver's own time to find out, ten seconds after the HSS is back all is pushed. */
const REST = { firstMs: 500, longestMs: 4_000 }
/** A driver that comes is noticed at once (see plugin.ts); this is only the net below. */
const ABSENT_MS = 60_000
/** Bound on one call of a driver. */
const CALL_MS = 20_000
const LATE = `the HSS did not answer within ${CALL_MS / 1_000} s`

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
export function hssBreaker(context: Context<SimsConfig>, onBack: () => void = () => undefined): HssBreaker {
  /** Why the first call of an outage failed, and the last one: the later ones can be its consequence. */
  let first: string | undefined
  let last: string | undefined
  let failures = 0
  let restsUntilMs = 0
  const driver = (): HssDriver | undefined =>
    context.settings.hss.driver === 'none' ? NONE : context.maybe(hssDriverRef)
  const view: HssBreaker['view'] = () => {
    const loaded = driver()
    const name = loaded?.name ?? context.settings.hss.driver
    const failure = first === last ? first : `${first}; now: ${last}`
    const absence = `the HSS driver ${name} is not loaded: load its plugin, or set hss.driver`
    return { driver: name, problem: loaded === undefined ? absence : failure }
  }
  const restMs = (): number | undefined => {
    if (driver() === undefined) return ABSENT_MS
    return failures === 0 ? undefined : Math.max(0, restsUntilMs - context.clock.monotonicMs())
  }
  const failed = (error: unknown): void => {
    failures += 1
    last = safeText(error)
    first ??= last
    restsUntilMs = context.clock.monotonicMs() + backoffMs(REST, failures, () => 0)
    if (failures === 1) context.log.warn({ reason: last }, 'HSS does not answer')
  }
  const worked = (): void => {
    const wasAway = failures > 0
    if (wasAway) context.log.info({ failures }, 'HSS answers again')
    failures = 0
    first = undefined
    last = undefined
    restsUntilMs = 0
    if (wasAway) onBack()
  }
  const call: HssBreaker['call'] = async (signal, work) => {
    const bound = AbortSignal.timeout(CALL_MS)
    try {
      const result = await untilAborted(work(AbortSignal.any([signal, bound])), bound)
      worked()
      return result
    } catch (error) {
      signal.throwIfAborted()
      failed(bound.aborted ? new Error(LATE) : error)
      return undefined
    }
  }
  return {
    driver,
    view,
    restMs,
    worked,
    later: (reason = view().problem ?? 'the HSS did not take it') => ({
      state: 'pending',
      afterMs: restMs() ?? 0,
      reason,
    }),
    call,
    write: async (signal, imsis, work) => {
      const result = await call(signal, work)
      return result === undefined ? undefined : errorsOf(result, imsis)
    },
  }
}

/** A driver that forgets one has not done it. */
function errorsOf(result: BatchResult, imsis: readonly Imsi[]): readonly (Error | undefined)[] {
  return imsis.map((imsi) =>
    result.has(imsi) ? result.get(imsi) : new Error('the HSS driver gave no result for it'),
  )
}

/** What is known in the HSS of a SIM that comes into the store at `nowMs`: with no HSS to push to, all is done. */
export function firstHss(
  { hss }: SimsParts,
  nowMs: number,
): Pick<SimRow, 'hss_status' | 'hss_driver' | 'hss_error' | 'hss_synced_at_ms' | 'hss_seq'> {
  const isNone = hss.driver()?.name === 'none'
  return {
    hss_status: isNone ? 'synced' : 'pending',
    hss_driver: isNone ? 'none' : null,
    hss_error: null,
    hss_synced_at_ms: isNone ? nowMs : null,
    hss_seq: 1,
  }
}
