import {
  type ComponentHealth,
  type Context,
  countText,
  type ImsiHash,
  listed,
  type MutationTx,
  type Principal,
  type Reader,
  type SimRegister,
  type Subscribers,
  type SubscriberView,
  type SuspensionReason,
  simNotFound,
  simStateConflict,
} from '@steeple/contracts'
import { formatPlmn } from '@steeple/telecom'
import { BATCHES, isLabelOfBatch } from './batches.ts'
import { RATES_RESOURCE, SIM_RESOURCE, type SimsParts } from './parts.ts'
import { matching } from './routes/filter.ts'
import { noCard } from './secrets/card.ts'
import { type Changed, recordedState, transitionSim, unsynced, wantedInHss } from './states/change.ts'
import { forgetSeen } from './store/attach-store.ts'
import {
  apnsOf,
  countUnsynced,
  EMPTY,
  lastFirstAttached,
  SIMS,
  type SimRow,
  simsWithQuota,
  unsyncedSims,
} from './store/sim-store.ts'
import { removeWords } from './store/word-store.ts'

const STATES_AFTER =
  'select hash, state, suspend_reason from sims_sim where hash > :after order by hash limit :limit'

/** The standing of at most `limit` SIMs with a hash behind `after`, by hash. Not checked. */
function statesAfter(
  reader: Reader,
  after: string,
  limit: number,
): Promise<readonly Pick<SimRow, 'hash' | 'state' | 'suspend_reason'>[]> {
  return reader.all(STATES_AFTER, { after, limit })
}

/** What keeps a record sees of the SIMs, and how one of them ends for good. */
export function simRegister(parts: SimsParts): SimRegister {
  const { context } = parts
  return {
    states: async (tx, after, limit) =>
      (await statesAfter(context.db.join(tx), after, limit)).map(recordedState),
    remains: async (imsi, tx) => {
      const reader = tx === undefined ? context.db : context.db.join(tx)
      const row = await SIMS.find(reader, { hash: imsi })
      if (row === undefined) return undefined
      const isUnused = row.attached_at_ms === null
      const waitsFor = isAwaited(row) ? awaited(parts, row) : undefined
      return { state: row.state, isUnused, waitsFor }
    },
    revokeIn: async (tx, imsi) => {
      await transitionSim(parts, context.db.join(tx), imsi, { action: 'revoke' })
    },
    stripIn: async (tx, imsi) => {
      const own = context.db.join(tx)
      const row = await revoked(own, imsi)
      await forgetBeside(own, row)
      await SIMS.put(own, { ...row, ...EMPTY, secrets_sealed: noCard(parts.vault, row.hash) })
    },
    eraseIn: async (tx, imsi, how) => {
      const own = context.db.join(tx)
      const row = await revoked(own, imsi)
      if (isAwaited(row) && how?.isUnheard !== true)
        throw simStateConflict(
          `the SIM ${imsi} is revoked, and the HSS must still remove it; try again later`,
        )
      await SIMS.remove(own, { hash: imsi })
      await forgetBeside(own, row)
      tx.afterCommit(() => parts.counters.removed(row.state))
    },
  }
}

async function revoked(own: MutationTx, imsi: string): Promise<SimRow> {
  const row = await SIMS.find(own, { hash: imsi })
  if (row === undefined) throw simNotFound(imsi)
  if (row.state !== 'revoked') throw simStateConflict(`the SIM ${imsi} is ${row.state}; revoke it first`)
  return row
}

/** Removes what is known of a SIM beside its row. */
async function forgetBeside(own: MutationTx, row: SimRow): Promise<void> {
  await removeWords(own, row.hash)
  await forgetSeen(own, row.hash)
  const batch = row.batch_id === null ? undefined : await BATCHES.find(own, { id: row.batch_id })
  if (batch === undefined) return
  // A label that was given at issue is the batch's too, and says whose SIM it was as long as no other one has it.
  const isOthers = batch.label !== null && (await isLabelOfBatch(own, batch.id, batch.label, row.hash))
  const label = isOthers ? batch.label : null
  await BATCHES.put(own, { ...batch, label, sims: batch.sims - 1 })
}

function isAwaited({ hss_status, state }: SimRow): boolean {
  return state !== 'revoked' || hss_status !== 'synced'
}

function awaited({ hss, core }: SimsParts, { state, hss_error: said }: SimRow): string {
  if (state !== 'revoked') return `it is ${state}`
  return hss.view().problem ?? said ?? core.problem() ?? 'the HSS is still to be told'
}

const OF_OTHER_NETWORKS = ['<', '>']
  .map((sign) => `select state from sims_sim where plmn ${sign} :plmn`)
  .join(' union all ')
const COUNT = `select count(*) as sims from (${OF_OTHER_NETWORKS}) as others where state <> 'revoked'`

/**
 * That SIMs have numbers of another network than this one (`999-99`), and what to do about it; undefined when none has. A change
 * of the network's number leaves those of the old one behind.
 */
async function misfits(reader: Reader, plmn: string): Promise<string | undefined> {
  const count = Number((await reader.get<{ readonly sims: number }>(COUNT, { plmn }))?.sims ?? 0)
  if (count === 0) return undefined
  const whose = countText(count, 'SIM has an IMSI', 'SIMs have IMSIs')
  return (
    `${whose} of another network than ${plmn}, so that their phones do not get on: set plmn back, or put new SIMs in ` +
    'their place (svc sim issue --replaces HASH), or revoke them'
  )
}

/** The same as a component of the health. */
export async function networkHealth({
  db,
  settings,
}: {
  readonly db: Reader
  readonly settings: Pick<Context['settings'], 'plmn'>
}): Promise<ComponentHealth> {
  const problem = await misfits(db, formatPlmn(settings.plmn))
  return {
    name: 'network',
    kind: 'feature',
    status: problem === undefined ? 'ok' : 'degraded',
    detail: problem ?? 'every SIM is of this network',
  }
}

/** Hashes that are asked for in one statement. */
const ABREAST = 500

/** The labels of SIMs that have one. A damaged row has none. */
async function labelsOf(reader: Reader, imsis: readonly ImsiHash[]): Promise<ReadonlyMap<ImsiHash, string>> {
  const labels = new Map<ImsiHash, string>()
  for (let from = 0; from < imsis.length; from += ABREAST) {
    const { where, params } = listed('hash', imsis.slice(from, from + ABREAST))
    const { rows } = await SIMS.sound(reader, `where ${where}`, params)
    // A hash of the store is one.
    for (const { hash, label } of rows)
      if (label !== null && label !== '') labels.set(hash as ImsiHash, label)
  }
  return labels
}

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
      ? await transitionSim(parts, tx, hash, { action: 'suspend', reason })
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
    labels: (imsis) => labelsOf(context.db, imsis),
    counts: async () => parts.counters.states(),
    misfits: (plmn) => misfits(context.db, plmn),
    backlog: async (driver) => {
      if (driver !== undefined)
        return (await unsyncedSims(context.db, driver)).filter(({ state }) => state !== 'revoked').length
      const { pending, failed } = await countUnsynced(context.db)
      return pending + failed
    },
    search: async (q, limit) => {
      const rows = await matching(parts, { q }, limit, undefined)
      return rows.map(({ hash, label, state, iccid_last4 }) => ({
        imsi: hash as ImsiHash, // of the store
        label: label ?? undefined,
        state,
        iccidEnd: iccid_last4 ?? undefined,
      }))
    },
    lastAttached: async () => {
      const hash = parts.seen.last ?? (await lastFirstAttached(context.db))
      return hash === undefined ? undefined : await find(hash)
    },
    suspend: (imsi, reason, by) => alone('suspend', imsi, reason, by),
    resume: (imsi, reason, by) => alone('resume', imsi, reason, by),
    suspendIn: (tx, imsi, reason) => inside(tx, 'suspend', imsi, reason),
    resumeIn: (tx, imsi, reason) => inside(tx, 'resume', imsi, reason),
    setQuotaIn: async (tx, imsi, quotaBytes) => viewOf(await setQuota(context.db.join(tx), imsi, quotaBytes)),
    capIn: async (tx, imsi, capBps, running) => viewOf(await cap(context.db.join(tx), imsi, capBps, running)),
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
    : await transitionSim(parts, tx, hash, {
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
  running: 'kick' | 'wait',
): Promise<SimRow> {
  const row = await SIMS.find(tx, { hash })
  if (row === undefined) throw simNotFound(hash)
  if ((row.cap_bps ?? undefined) === capBps) return row
  const after: SimRow = { ...row, ...unsynced(row), cap_bps: capBps ?? null, reach: running }
  await SIMS.put(tx, after)
  tx.dirty(SIM_RESOURCE, hash, wantedInHss(row.state) !== 'open')
  tx.dirty(RATES_RESOURCE, hash)
  return after
}
