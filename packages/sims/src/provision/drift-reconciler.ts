import { type HssDriver, msFromDuration, type Outcome, type Reconciler } from '@steeple/contracts'
import { DRIFT_RESOURCE, SIM_RESOURCE, type SimsParts } from '../parts.ts'
import { wantedInHss } from '../states/change.ts'
import { type ComparedSim, comparedBetween } from '../store/sim-store.ts'
import { differences } from './differences.ts'
import { laterSeq, markDrifted } from './push.ts'

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
