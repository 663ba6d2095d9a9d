import {
  type ImsiHash,
  type MutationTx,
  type Principal,
  type Subscribers,
  type SubscriberView,
  type SuspensionReason,
  simNotFound,
  simStateConflict,
} from '@steeple/contracts'
import { misfits } from './misfits.ts'
import { RATES_RESOURCE, SIM_RESOURCE, type SimsParts } from './parts.ts'
import { type Changed, changeSim, unsynced, wantedInHss } from './states/change.ts'
import { apnsOf, lastFirstAttached, SIMS, type SimRow, simsWithQuota } from './store/sim-store.ts'

type Verb = 'suspend' | 'resume'

/** The service that other plugins see subscribers by. */
export function subscribers(parts: SimsParts): Subscribers {
  const { context } = parts
  const find = async (hash: string): Promise<SubscriberView | undefined> => {
    const row = await SIMS.find(context.db, { hash })
    return row === undefined ? undefined : viewOf(row)
  }
  const move = async (
    tx: MutationTx,
    verb: Verb,
    hash: string,
    reason: SuspensionReason,
  ): Promise<Changed> =>
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
    tx: MutationTx,
    verb: Verb,
    imsi: ImsiHash,
    reason: SuspensionReason,
  ): Promise<SubscriberView> => viewOf((await move(context.db.join(tx), verb, imsi, reason)).after)
  return {
    find,
    counts: async () => parts.counters.states(),
    misfits: (plmn) => misfits(context.db, plmn),
    lastAttached: async () => {
      const hash = parts.seen.last() ?? (await lastFirstAttached(context.db))
      return hash === undefined ? undefined : await find(hash)
    },
    suspend: (imsi, reason, by) => alone('suspend', imsi, reason, by),
    resume: (imsi, reason, by) => alone('resume', imsi, reason, by),
    suspendIn: (tx, imsi, reason) => inside(tx, 'suspend', imsi, reason),
    resumeIn: (tx, imsi, reason) => inside(tx, 'resume', imsi, reason),
    setQuotaIn: async (tx, imsi, quotaBytes) => viewOf(await setQuota(context.db.join(tx), imsi, quotaBytes)),
    capIn: async (tx, imsi, capBps, reach) => viewOf(await cap(context.db.join(tx), imsi, capBps, reach)),
    withQuota: async (after, limit) =>
      (await simsWithQuota(context.db, after, limit)).map(({ hash, quota_bytes }) => ({
        // A hash of the store is one.
        imsi: hash as ImsiHash,
        quotaBytes: quota_bytes,
      })),
    moves: (since, signal) => parts.moves.since(since, signal),
  }
}

/** What somebody else has suspended stays as it is. Whether the quota allows it again is for the caller to know. */
async function lift(
  parts: SimsParts,
  tx: MutationTx,
  hash: string,
  reason: SuspensionReason,
): Promise<Changed> {
  const row = await SIMS.find(tx, { hash })
  if (row === undefined) throw simNotFound(hash)
  const isOthers = row.state === 'suspended' && row.suspend_reason !== reason
  return isOthers
    ? { before: row, after: row }
    : await changeSim(parts, tx, hash, {
        action: 'resume',
        ...(reason === 'quota' ? { lift: 'keeper' } : {}),
      })
}

/** A SIM as other plugins see it. */
export function viewOf(row: SimRow): SubscriberView {
  return {
    // A hash of the store is one.
    imsi: row.hash as ImsiHash,
    state: row.state,
    suspendReason: row.state === 'suspended' ? (row.suspend_reason ?? undefined) : undefined,
    plmn: row.plmn,
    profile: row.profile,
    apns: apnsOf(row),
    quotaBytes: row.quota_bytes ?? undefined,
    capBps: row.cap_bps ?? undefined,
    rates: ratesOf(row),
    expiresAtMs: row.expires_at_ms,
    firstAttachAtMs: row.attached_at_ms ?? undefined,
  }
}

function ratesOf({ hss_status, reach }: SimRow): SubscriberView['rates'] {
  if (reach === null) return 'in_force'
  return hss_status === 'synced' ? 'next_session' : 'pending'
}

async function setQuota(tx: MutationTx, hash: string, quotaBytes: number | undefined): Promise<SimRow> {
  const row = await SIMS.find(tx, { hash })
  if (row === undefined) throw simNotFound(hash)
  if (row.state === 'revoked') throw simStateConflict(`the SIM ${hash} is revoked; it can have no quota`)
  const after = { ...row, quota_bytes: quotaBytes ?? null }
  if (after.quota_bytes !== row.quota_bytes) await SIMS.put(tx, after)
  return after
}

async function cap(
  tx: MutationTx,
  hash: string,
  capBps: number | undefined,
  reach: 'kick' | 'wait',
): Promise<SimRow> {
  const row = await SIMS.find(tx, { hash })
  if (row === undefined) throw simNotFound(hash)
  if ((row.cap_bps ?? undefined) === capBps) return row
  const after: SimRow = { ...row, ...unsynced(row), cap_bps: capBps ?? null, reach }
  await SIMS.put(tx, after)
  tx.dirty(SIM_RESOURCE, hash, wantedInHss(row.state) !== 'open')
  tx.dirty(RATES_RESOURCE, hash)
  return after
}
