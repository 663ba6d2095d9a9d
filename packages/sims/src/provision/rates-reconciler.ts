import type { Outcome, Reconciler } from '@steeple/contracts'
import { RATES_RESOURCE, type SimsParts } from '../parts.ts'
import { wantedInHss } from '../states/change.ts'
import { seenTimes } from '../store/attach-store.ts'
import { SIMS, type SimRow, unreachedHashes } from '../store/sim-store.ts'
import type { Kicked } from './cut.ts'
import { readKeys } from './sim-reconciler.ts'

/** SIMs of one call: their kicks take turns. */
const BATCH = 50
const LIST_MS = 60_000
/** The HSS is told by another reconciler. */
const HSS_MS = 500
const KICK_MS = 1_000
/** A core that takes no kicks, and a phone whose session is waited for, are looked at so often. */
const REST_MS = 10_000

const UNTOLD: Outcome = { state: 'pending', afterMs: HSS_MS, reason: 'the HSS is yet to be told the rates' }
const RUNS: Outcome = runsOn(REST_MS)

/**
 * Has phones take the rates that their SIMs have got: ends their sessions or waits for that, once the HSS holds the rates.
 * Cores give a session its rates when it begins.
 */
export function ratesReconciler(parts: SimsParts): Reconciler {
  const { context } = parts
  return {
    resource: RATES_RESOURCE,
    resyncMs: LIST_MS,
    batch: BATCH,
    keys: () => unreachedHashes(context.db),
    reconcile: async (keys, signal) => {
      const { rows, outcomes } = await readKeys(context.db, keys)
      const open = rows.filter(({ reach }) => reach !== null)
      const told = open.filter(({ hss_status }) => hss_status === 'synced')
      for (const row of open) outcomes.set(row.hash, told.includes(row) ? RUNS : UNTOLD)
      const kicked = await parts.core.kick(told.filter(isToBeKicked), signal)
      for (const [hash, how] of kicked) outcomes.set(hash, outcomeOf(how))
      const ended = [...told.filter((row) => isGone(kicked.get(row.hash))), ...(await restarted(parts, told))]
      await markReached(parts, ended)
      for (const { hash } of ended) outcomes.set(hash, { state: 'converged' })
      return outcomes
    },
  }
}

function isToBeKicked({ reach, state }: SimRow): boolean {
  return reach === 'kick' && wantedInHss(state) === 'open'
}

function isGone(how: Kicked | undefined): boolean {
  return how === 'yes' || how === 'not_attached'
}

function outcomeOf(how: Kicked): Outcome {
  return how === 'unknown' ? RUNS : runsOn(KICK_MS)
}

function runsOn(afterMs: number): Outcome {
  return {
    state: 'pending',
    afterMs,
    reason: 'the phone may have the rates of before until its session ends',
  }
}

/** Those whose session has ended by itself since the HSS was told, or that may have none. */
async function restarted(
  { context, attachedSet }: SimsParts,
  rows: readonly SimRow[],
): Promise<readonly SimRow[]> {
  const attached = attachedSet.now()
  const present: ReadonlySet<string> | undefined = attached?.hashes
  const times = await seenTimes(
    context.db,
    rows.map(({ hash }) => hash),
  )
  return rows.filter((row) => {
    const sinceMs = row.hss_synced_at_ms ?? Number.POSITIVE_INFINITY
    const isAbsent = present?.has(row.hash) === false && (attached?.atMs ?? 0) > sinceMs
    // It is written down when a phone comes and when it goes.
    return wantedInHss(row.state) !== 'open' || isAbsent || (times.get(row.hash) ?? 0) > sinceMs
  })
}

async function markReached({ context }: SimsParts, rows: readonly SimRow[]): Promise<void> {
  if (rows.length === 0) return
  await context.db.write(async (tx) => {
    for (const { hash, generation } of rows) {
      const now = await SIMS.find(tx, { hash })
      if (now !== undefined && now.generation === generation) await SIMS.put(tx, { ...now, reach: null })
    }
  })
}
