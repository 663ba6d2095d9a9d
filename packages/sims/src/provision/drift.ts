import {
  type HssDriver,
  type Imsi,
  msFromDuration,
  type Outcome,
  type Reconciler,
  type Subscriber,
} from '@steeple/contracts'
import { DRIFT_RESOURCE, SIM_RESOURCE, type SimsParts } from '../parts.ts'
import { openImsi, wipe } from '../secrets/card.ts'
import { wantedInHss } from '../states/change.ts'
import { type ComparedSim, comparedBetween, ifSound } from '../store/sim-store.ts'
import { driftOf, laterSeq, MISSING, markDrifted, subscriberOf, wantedOf } from './push.ts'

/** One SIM that the HSS holds otherwise than it should. */
interface Difference {
  readonly row: ComparedSim
  /** In words, without a value. */
  readonly reason: string
  /** Whether the next push brings the SQN anew. */
  readonly isSqnLost: boolean
  readonly isMissing: boolean
}

/** Names in one reason; more are counted. */
const MOST_NAMES = 4

/**
 * The SIMs that the HSS holds otherwise than it should; undefined when it did not answer.
 *
 * A driver that compares is given those that may be on air whole, keys included, since a changed key shows nowhere else,
 * and those that were taken over, which keep what nobody can observe. For all others what can be observed must do.
 */
export async function differences(
  parts: SimsParts,
  driver: HssDriver,
  rows: readonly ComparedSim[],
  signal: AbortSignal,
): Promise<readonly Difference[] | undefined> {
  const isCompared = ({ state, found_sealed: found }: ComparedSim): boolean =>
    driver.compare !== undefined &&
    (wantedInHss(state) === 'open' || (wantedInHss(state) === 'blocked' && found !== null))
  const whole = rows.filter(isCompared)
  const compared = await comparedWhole(parts, driver, whole, signal)
  if (compared === undefined) return undefined
  const rest = rows.filter((row) => !isCompared(row))
  const observed = await observedOnly(parts, driver, rest, signal)
  return observed === undefined ? undefined : [...compared, ...observed]
}

async function comparedWhole(
  parts: SimsParts,
  driver: HssDriver,
  rows: readonly ComparedSim[],
  signal: AbortSignal,
): Promise<readonly Difference[] | undefined> {
  const subscribers = new Map<ComparedSim, Subscriber>()
  try {
    for (const row of rows) {
      const subscriber = await ifSound(() => subscriberOf(parts.vault, row))
      if (subscriber !== undefined) subscribers.set(row, subscriber)
    }
    if (subscribers.size === 0) return []
    const all = [...subscribers.values()]
    const seen = await parts.hss.call(signal, async (bound) => await driver.compare?.(all, bound))
    if (seen === undefined) return undefined
    return [...subscribers].flatMap(([row, { imsi }]): readonly Difference[] => {
      const difference = seen.get(imsi)
      if (difference === undefined) return [{ row, reason: MISSING, isSqnLost: true, isMissing: true }]
      const { fields, isSqnLost } = difference
      return fields.length === 0 ? [] : [{ row, reason: named(fields), isSqnLost, isMissing: false }]
    })
  } finally {
    for (const { ki, opc } of subscribers.values()) wipe(ki, opc)
  }
}

async function observedOnly(
  parts: SimsParts,
  driver: HssDriver,
  rows: readonly ComparedSim[],
  signal: AbortSignal,
): Promise<readonly Difference[] | undefined> {
  const imsis = new Map<string, Imsi>()
  for (const row of rows) {
    const imsi = await ifSound(() => openImsi(parts.vault, row))
    if (imsi !== undefined) imsis.set(row.hash, imsi)
  }
  if (imsis.size === 0) return []
  const seen = await parts.hss.call(signal, (bound) => driver.observe([...imsis.values()], bound))
  if (seen === undefined) return undefined
  return rows.flatMap((row): readonly Difference[] => {
    const imsi = imsis.get(row.hash)
    if (imsi === undefined) return []
    const held = seen.get(imsi)
    const reason = reasonOf(row, imsi, held)
    const isMissing = held === undefined
    return reason === undefined ? [] : [{ row, reason, isSqnLost: isMissing, isMissing }]
  })
}

function reasonOf(row: ComparedSim, imsi: Imsi, held: Parameters<typeof driftOf>[1]): string | undefined {
  if (wantedInHss(row.state) === 'absent')
    return held === undefined ? undefined : 'the subscriber was in the HSS again'
  return driftOf(wantedOf(row, imsi), held)
}

function named(fields: readonly string[]): string {
  const rest = fields.length - MOST_NAMES
  const names = fields.slice(0, MOST_NAMES).join(', ')
  return `changed in the HSS: ${names}${rest > 0 ? ` and ${rest} more` : ''}`
}

/** Subscribers in one look of a driver. */
const CHUNK = 500
/** SIMs in a slice, about: a slice is one key of the reconciler. */
const SLICE_SIMS = 500
/** Sorts behind every hash. */
const END = 'g'
/** Key of the slice of everything. */
const WHOLE = 'all'
const SHORTEST_MS = 1_000

/**
 * Compares what the HSS holds with what it should hold, slice by slice of the hashes, and has what differs pushed
 * again. The one way in which an HSS that was restored or edited by hand is found out.
 */
export function driftReconciler(parts: SimsParts): Reconciler {
  const { context, hss, counters } = parts
  return {
    resource: DRIFT_RESOURCE,
    resyncMs: Math.max(SHORTEST_MS, msFromDuration(context.config.drift_interval) ?? SHORTEST_MS),
    restMs: hss.restMs,
    keys: async () => (hss.driver()?.name === 'none' ? [] : slices(counters.total)),
    reconcile: async (keys, signal) => {
      const driver = hss.driver()
      if (driver === undefined) return hss.later()
      const outcomes = new Map<string, Outcome>()
      for (const key of keys) outcomes.set(key, await slice(parts, driver, key, signal))
      return outcomes
    },
  }
}

/** Prefixes of hashes that cut the SIMs into slices. */
export function slices(sims: number): readonly string[] {
  let digits = 0
  while (digits < 4 && sims / 16 ** digits > SLICE_SIMS) digits += 1
  if (digits === 0) return [WHOLE]
  return Array.from({ length: 16 ** digits }, (_, i) => i.toString(16).padStart(digits, '0'))
}

async function slice(
  parts: SimsParts,
  driver: HssDriver,
  key: string,
  signal: AbortSignal,
): Promise<Outcome> {
  const prefix = key === WHOLE ? '' : key
  let from = prefix
  for (;;) {
    const rows = await comparedBetween(parts.context.db, from, prefix + END, CHUNK)
    const settled = rows.filter((row) => row.hss_status === 'synced' && row.hss_driver === driver.name)
    if (!(await compare(parts, driver, settled, signal))) return parts.hss.later()
    const last = rows.at(-1)
    if (rows.length < CHUNK || last === undefined) return { state: 'converged' }
    // The next hash in order.
    from = `${last.hash}0`
  }
}

/** False when the HSS did not answer. */
async function compare(
  parts: SimsParts,
  driver: HssDriver,
  rows: readonly ComparedSim[],
  signal: AbortSignal,
): Promise<boolean> {
  const found = await differences(parts, driver, rows, signal)
  if (found === undefined) return false
  const nowMs = parts.context.clock.nowMs()
  const differing = new Set(found.map(({ row }) => row.hash))
  for (const { hash } of rows) if (!differing.has(hash)) parts.unfixable.fits(hash)
  // Who may not be on air is cut off however often it takes, and who is missing is put back.
  const worth = found.filter(({ row, reason, isMissing }) => {
    const isTried = isMissing || wantedInHss(row.state) !== 'open'
    return isTried || !parts.unfixable.differs(row.hash, row.generation, reason)
  })
  const drifted = worth.map(({ row, reason, isSqnLost }): Drifted => {
    return { row, reason, seq: isSqnLost ? laterSeq(row, nowMs) : row.hss_seq }
  })
  await tell(parts, drifted)
  return true
}

interface Drifted {
  readonly row: ComparedSim
  readonly reason: string
  readonly seq: number
}

async function tell(parts: SimsParts, drifted: readonly Drifted[]): Promise<void> {
  if (drifted.length === 0) return
  await markDrifted(parts.context, drifted)
  parts.context.log.warn({ sims: drifted.length, reason: drifted[0]?.reason }, 'HSS differed from the store')
  for (const { row } of drifted)
    parts.context.enqueue(SIM_RESOURCE, row.hash, wantedInHss(row.state) !== 'open')
}
