import {
  type ImsiHash,
  type Principal,
  type Subscribers,
  type SubscriberView,
  type SuspensionReason,
  simNotFound,
  type Tx,
} from '@steeple/contracts'
import type { SimsParts } from './parts.ts'
import { type Changed, changeSim } from './states/change.ts'
import { apnsOf, SIMS, type SimRow } from './store/sim-row.ts'
import { lastFirstAttached } from './store/sim-store.ts'

type Verb = 'suspend' | 'resume'

/** The service that other plugins see subscribers by. */
export function subscribers(parts: SimsParts): Subscribers {
  const { context } = parts
  const find = async (hash: string): Promise<SubscriberView | undefined> => {
    const row = await SIMS.find(context.db, { hash })
    return row === undefined ? undefined : viewOf(row)
  }
  const move = async (tx: Tx, verb: Verb, hash: string, reason: SuspensionReason): Promise<Changed> =>
    verb === 'suspend'
      ? await changeSim(parts, tx, hash, { action: 'suspend', reason })
      : await lift(parts, tx, hash, reason)
  const alone = async (
    verb: Verb,
    imsi: ImsiHash,
    reason: SuspensionReason,
    by: Principal,
  ): Promise<SubscriberView> => {
    let changed: Changed | undefined
    await context.mutate(by, `sim.${verb}`, imsi, async (tx) => {
      changed = await move(tx, verb, imsi, reason)
      const facts = { from: changed.before.state, to: changed.after.state }
      tx.audit({ detail: { ...facts, reason } })
      tx.event({ type: `sim.${verb}`, subject: imsi, data: facts })
    })
    if (changed === undefined) throw simNotFound(imsi)
    return viewOf(changed.after)
  }
  const inside = async (
    tx: Tx,
    verb: Verb,
    imsi: ImsiHash,
    reason: SuspensionReason,
  ): Promise<SubscriberView> => viewOf((await move(context.db.join(tx), verb, imsi, reason)).after)
  return {
    find,
    counts: async () => parts.counters.states(),
    lastAttached: async () => {
      const hash = parts.seen.last() ?? (await lastFirstAttached(context.db))
      return hash === undefined ? undefined : await find(hash)
    },
    suspend: (imsi, reason, by) => alone('suspend', imsi, reason, by),
    resume: (imsi, reason, by) => alone('resume', imsi, reason, by),
    suspendIn: (tx, imsi, reason) => inside(tx, 'suspend', imsi, reason),
    resumeIn: (tx, imsi, reason) => inside(tx, 'resume', imsi, reason),
    moves: (since, signal) => parts.moves.since(since, signal),
  }
}

/** What somebody else has suspended stays as it is. Whether the quota allows it again is for the caller to know. */
async function lift(parts: SimsParts, tx: Tx, hash: string, reason: SuspensionReason): Promise<Changed> {
  const row = await SIMS.find(tx, { hash })
  if (row === undefined) throw simNotFound(hash)
  const isOthers = row.state === 'suspended' && row.suspend_reason !== reason
  return isOthers
    ? { before: row, after: row }
    : await changeSim(parts, tx, hash, { action: 'resume', isOverride: true })
}

function viewOf(row: SimRow): SubscriberView {
  return {
    // A hash of the store is one.
    imsi: row.hash as ImsiHash,
    state: row.state,
    suspendReason: row.suspend_reason ?? undefined,
    plmn: row.plmn,
    profile: row.profile,
    apns: apnsOf(row),
    quotaBytes: row.quota_bytes ?? undefined,
    expiresAtMs: row.expires_at_ms,
    firstAttachAtMs: row.attached_at_ms ?? undefined,
  }
}
