import {
  type HssDriver,
  type Imsi,
  isServiceError,
  msFromDuration,
  type Outcome,
  type Reconciler,
} from '@steeple/contracts'
import { CUT_RESOURCE, DRIFT_RESOURCE, SIM_RESOURCE, type SimsParts } from '../parts.ts'
import { openImsi } from '../secrets/sealing.ts'
import { wantedInHss } from '../states/machine.ts'
import { type ComparedSim, comparedBetween } from '../store/sim-store.ts'
import { all, called, notNow } from './batch.ts'
import { laterSeq } from './lost.ts'
import { markDrifted } from './marks.ts'
import { driftOf, wantedOf } from './subscriber.ts'

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
    keys: async () => (hss.driver()?.name === 'none' ? [] : slices(counters.total)),
    reconcile: async (keys, signal) => {
      const driver = hss.driver()
      const wait = notNow(parts, driver)
      if (driver === undefined || wait !== undefined) return all(keys, wait ?? { state: 'converged' })
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
    if (!(await compare(parts, driver, settled, signal)))
      return {
        state: 'pending',
        afterMs: parts.hss.restMs(),
        reason: parts.hss.view().problem ?? 'no answer',
      }
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
  const imsis = new Map<string, Imsi>()
  for (const row of rows) {
    const imsi = readableImsi(parts, row)
    if (imsi !== undefined) imsis.set(row.hash, imsi)
  }
  if (imsis.size === 0) return true
  const seen = await called(parts, signal, (bound) => driver.observe([...imsis.values()], bound))
  if (seen === undefined) return false
  const nowMs = parts.context.clock.nowMs()
  const drifted: Drifted[] = []
  for (const row of rows) {
    const imsi = imsis.get(row.hash)
    if (imsi === undefined) continue
    const held = seen.get(imsi)
    const reason = reasonOf(row, imsi, held)
    const seq = held === undefined ? laterSeq(row, nowMs) : row.hss_seq
    if (reason !== undefined) drifted.push({ row, reason, seq })
  }
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
  await markDrifted(parts.context.db, drifted)
  parts.context.log.warn({ sims: drifted.length, reason: drifted[0]?.reason }, 'HSS differed from the store')
  for (const { row } of drifted)
    parts.context.enqueue(wantedInHss(row.state) === 'open' ? SIM_RESOURCE : CUT_RESOURCE, row.hash)
}

/** Undefined for a damaged row: it is compared when somebody has mended it. */
function readableImsi(parts: SimsParts, row: ComparedSim): Imsi | undefined {
  try {
    return openImsi(parts.vault, row)
  } catch (error) {
    if (isServiceError(error) && error.code === 'store_corrupt') return undefined
    throw error
  }
}

function reasonOf(row: ComparedSim, imsi: Imsi, held: Parameters<typeof driftOf>[1]): string | undefined {
  if (wantedInHss(row.state) === 'absent')
    return held === undefined ? undefined : 'the subscriber was in the HSS again'
  return driftOf(wantedOf(row, imsi), held)
}
