import {
  type ComponentHealth,
  type Context,
  chunksOf,
  countText,
  type ImsiHash,
  listed,
  type MutationTx,
  type Reader,
  type SimProvisioning,
  type SimRegister,
  type SimWanted,
  type Subscribers,
  type SubscriberView,
  simStateConflict,
} from '@steeple/contracts'
import { formatPlmn } from '@steeple/telecom'
import { BATCHES, isLabelOfBatch } from './batches.ts'
import { RATES_RESOURCE, SIM_RESOURCE, type SimsParts } from './parts.ts'
import { subscriberOf } from './provision/push.ts'
import { matching } from './routes/filter.ts'
import { noCard } from './secrets/card.ts'
import {
  type Change,
  recordedState,
  toldTransition,
  transitionSim,
  unsynced,
  wantedInHss,
} from './states/change.ts'
import { forgetSeen } from './store/attach-store.ts'
import {
  apnsOf,
  countUnsynced,
  EMPTY,
  lastFirstAttached,
  SIMS,
  type SimRow,
  simOf,
  simsOf,
  suspendReasonOf,
  unsyncedSims,
} from './store/sim-store.ts'
import { removeWords } from './store/word-store.ts'

const STATES_AFTER =
  'select hash, state, suspend_reason from sims_sim where hash > :after order by hash limit :limit'

type StateRow = Parameters<typeof recordedState>[0]

/** What keeps a record sees of the SIMs, and how one of them ends for good. */
export function simRegister(parts: SimsParts): SimRegister {
  const { context } = parts
  return {
    // Not checked.
    states: async (tx, after, limit) =>
      (await context.db.join(tx).all<StateRow>(STATES_AFTER, { after, limit })).map(recordedState),
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
  const row = await simOf(own, imsi)
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
  for (const some of chunksOf(imsis, ABREAST)) {
    const { where, params } = listed('hash', some)
    const { rows } = await SIMS.sound(reader, `where ${where}`, params)
    for (const { hash, label } of rows) if (label !== null && label !== '') labels.set(hash, label)
  }
  return labels
}

const WITH_QUOTA = `select hash as imsi, quota_bytes as "quotaBytes" from sims_sim
  where quota_bytes is not null and hash > :after and state <> 'revoked' order by hash limit :limit`

/** The service that other plugins see subscribers by. */
export function subscribers(parts: SimsParts): Subscribers {
  const { context } = parts
  const find = async (hash: string): Promise<SubscriberView | undefined> => {
    const row = await SIMS.find(context.db, { hash })
    return row === undefined ? undefined : viewOf(row)
  }
  /** In a mutation of its own. */
  const alone = (action: Change['action']): Subscribers['suspend'] => {
    return async (imsi, reason, by) => {
      await context.mutate(by, `sim.${action}`, imsi, async (tx) => {
        await toldTransition(parts, tx, imsi, { action, reason }, { reason })
      })
      return viewOf(await simOf(context.db, imsi))
    }
  }
  const inside = (action: Change['action']): Subscribers['suspendIn'] => {
    return async (tx, imsi, reason) =>
      viewOf((await transitionSim(parts, context.db.join(tx), imsi, { action, reason })).after)
  }
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
        imsi: hash,
        label: label ?? undefined,
        state,
        iccidEnd: iccid_last4 ?? undefined,
      }))
    },
    lastAttached: async () => {
      const hash = parts.seen.last ?? (await lastFirstAttached(context.db))
      return hash === undefined ? undefined : await find(hash)
    },
    suspend: alone('suspend'),
    resume: alone('resume'),
    suspendIn: inside('suspend'),
    resumeIn: inside('resume'),
    setQuotaIn: async (tx, imsi, quotaBytes) => viewOf(await setQuota(context.db.join(tx), imsi, quotaBytes)),
    capIn: async (tx, imsi, capBps, running) => viewOf(await cap(context.db.join(tx), imsi, capBps, running)),
    withQuota: async (after, limit) => await context.db.all(WITH_QUOTA, { after, limit }),
    moves: (since, signal) => parts.moves.since(since, signal),
  }
}

/** SIMs for the HSS of another node. */
export function simProvisioning({ context, vault }: Pick<SimsParts, 'context' | 'vault'>): SimProvisioning {
  const { db } = context
  return {
    list: async (after, limit) => {
      const behind = 'where hash > :after order by hash limit :limit'
      return (await SIMS.sound(db, behind, { after, limit })).rows.map(wantedOf)
    },
    among: async (imsis) => (await simsOf(db, imsis)).map(wantedOf),
    subscriber: async (imsi) => {
      const row = await SIMS.find(db, { hash: imsi })
      return row === undefined ? undefined : subscriberOf(vault, row)
    },
  }
}

function wantedOf({ hash, state, generation, issued_at_ms: issuedAtMs }: SimRow): SimWanted {
  return { imsi: hash, wanted: wantedInHss(state), generation, issuedAtMs }
}

/** A SIM as other plugins see it. */
export function viewOf(row: SimRow): SubscriberView {
  return {
    imsi: row.hash,
    state: row.state,
    suspendReason: suspendReasonOf(row) ?? undefined,
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
  const row = await simOf(tx, hash)
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
  const row = await simOf(tx, hash)
  if ((row.cap_bps ?? undefined) === capBps) return row
  const after: SimRow = { ...row, ...unsynced(row), cap_bps: capBps ?? null, reach: running }
  await SIMS.put(tx, after)
  tx.dirty(SIM_RESOURCE, hash, wantedInHss(row.state) !== 'open')
  tx.dirty(RATES_RESOURCE, hash)
  return after
}
