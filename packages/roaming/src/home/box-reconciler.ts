import {
  answerText,
  boxCallsRef,
  type ImsiHash,
  messageOf,
  type Outcome,
  quotaKeeperRef,
  type Reader,
  type Reconciler,
  simProvisioningRef,
  southboundUnavailable,
  sumOctets,
  type Tx,
  usageLedgerRef,
} from '@steeple/contracts'
import { type BoxKey, sealTo } from '../envelope.ts'
import { BOX_RESOURCE, othersOf, PLAN_RESOURCE, type RoamingParts } from '../parts.ts'
import { laterSeq } from '../sqn.ts'
import {
  AT_ONCE_MS,
  allBoxes,
  BOXES,
  type BoxRow,
  boxesWithLeases,
  COUNTS,
  changeBox,
  countedVisits,
  dueLeases,
  keyOf,
  LEASES,
  type LeaseRow,
  leasesOf,
  NEVER_MS,
} from '../store.ts'
import { packCard, wipeCard } from '../visitor-card.ts'
import {
  COUNTED_AT_ONCE,
  LEASES_AT_ONCE,
  type LeaseResult,
  type LeasesAnswer,
  readAnswer,
  STAYS_AT_ONCE,
  type ToldLease,
  type VisitUsage,
} from '../wire.ts'
import { BY, leaseMs } from './plan.ts'
import { keepStays } from './stays.ts'

/** A box is asked for news so often. */
const RESYNC_MS = 30_000
/** One that was away hears within seconds of being back. */
const BACKOFF = { firstMs: 1_000, longestMs: 10_000 }
/** Boxes that are spoken to at once. */
const ABREAST = 4
/** Between two messages to one box. */
const MORE_MS = 200
/** What is taken is looked at again after this part of its life. */
const RENEWED_AFTER = 1 / 3
/** A refusal is asked again after that. */
const REFUSED_MS = 60_000
/** What is to be erased there waits for its phone to be cut off. */
const WAITS_MS = 1_000
/** What is left of a quota is told so often. */
const SHARE_MS = 30_000

/** Tells each box of its leases, renews them, and hears what visitors have used. */
export function boxReconciler(parts: RoamingParts): Reconciler {
  const { context } = parts
  return {
    resource: BOX_RESOURCE,
    resyncMs: RESYNC_MS,
    backoff: BACKOFF,
    concurrency: ABREAST,
    urgentConcurrency: ABREAST,
    keys: async () => {
      const permitted = (await allBoxes(context.db)).filter(({ permitted_at_ms: at }) => at !== null)
      return [
        ...new Set([...permitted.map(({ node_id }) => node_id), ...(await boxesWithLeases(context.db))]),
      ]
    },
    reconcile: async ([node = ''], signal): Promise<Outcome> => {
      const box = (await othersOf(parts))?.get(node)
      // Out of the mesh: it hears nothing more, and its leases end by time.
      if (box === undefined) return { state: 'converged' }
      const known = await BOXES.find(context.db, { node_id: node })
      const more = await speak(parts, known, { node_id: node, name: box.name }, signal)
      return more
        ? { state: 'pending', afterMs: MORE_MS, reason: 'more leases are to be told' }
        : { state: 'converged' }
    },
  }
}

/** One message and its answer; whether more is to be told. */
async function speak(
  parts: RoamingParts,
  known: BoxRow | undefined,
  box: Pick<BoxRow, 'node_id' | 'name'>,
  signal: AbortSignal,
): Promise<boolean> {
  const { context } = parts
  const now = context.clock.nowMs()
  const longest = now + renewedMs(parts)
  const due = await dueLeases(context.db, { node: box.node_id, now, longest, limit: LEASES_AT_ONCE })
  // The first message learns the key.
  const key = keyOf(known)
  const leases = key === undefined ? [] : await toldLeases(parts, key, due)
  const counted = await countedVisits(context.db, box.node_id, COUNTED_AT_ONCE)
  const stays_after = known?.stays_after ?? 0
  const answer = await ask(parts, box, { stays_after, counted, leases }, signal)
  const isOtherKey = key?.id !== answer.key.id
  await context.db.write(async (tx) => {
    const { id: key_id, x: key_x } = answer.key
    await changeBox(tx, box, { key_id, key_x, heard_at_ms: now, problem: null })
    for (const visit of counted) {
      const row = await COUNTS.find(tx, { node_id: box.node_id, visit })
      if (row?.is_over === 1) await COUNTS.put(tx, { ...row, is_over: 2 })
    }
    const results = new Map(answer.results.map((one) => [one.imsi_sha256_12, one]))
    for (const told of leases) {
      const hash = told.imsi_sha256_12
      const row = await LEASES.find(tx, { hash, node_id: box.node_id })
      const result = results.get(hash)
      if (row === undefined || result === undefined) continue
      await LEASES.put(tx, { ...row, ...after(parts, row, result, told) })
      if (result.status === 'newer') await giveInd(tx, row, result.ind)
    }
  })
  await bookUsage(parts, box, answer.usage)
  await keepStays(parts, box, answer.stays)
  // The last word of these SIMs.
  for (const { imsi_sha256_12: hash, state } of leases)
    if (state === 'erased') context.enqueue(PLAN_RESOURCE, hash)
  if (answer.stays.length === STAYS_AT_ONCE) return true
  return due.length > 0 && (isOtherKey || due.length === LEASES_AT_ONCE || needsMore(answer))
}

function needsMore({ results }: LeasesAnswer): boolean {
  return results.some(({ status }) => status === 'needs_keys' || status === 'newer' || status === 'waits')
}

/** The other box has drawn with that index before, and goes on with it: whichever has it now gets the one of this row. */
async function giveInd(tx: Tx, { hash, node_id, ind: before }: LeaseRow, ind: number | null): Promise<void> {
  if (ind === null || ind === before) return
  for (const row of await leasesOf(tx, hash)) {
    if (row.node_id === node_id) await LEASES.put(tx, { ...row, ind })
    else if (row.ind === ind) await LEASES.put(tx, { ...row, ind: before })
  }
}

/** What of a row changes by what the other box said. */
function after(
  parts: RoamingParts,
  row: LeaseRow,
  { status, revision: theirs, reason }: LeaseResult,
  { revision: told, share_bytes: share }: ToldLease,
): Partial<LeaseRow> {
  const { context } = parts
  const now = context.clock.nowMs()
  // It had them: what it has drawn since nobody knows for sure.
  const isLost = row.told_revision > 0 && row.needs_keys === 0
  const fresh = isLost ? { seq: laterSeq(row.seq, row.granted_at_ms, now), granted_at_ms: now } : {}
  if (status === 'needs_keys') return { needs_keys: 1, renew_at_ms: AT_ONCE_MS, ...fresh }
  if (status === 'newer') return { revision: Math.max(row.revision, theirs) + 1, renew_at_ms: AT_ONCE_MS }
  if (status === 'waits') return { renew_at_ms: now + WAITS_MS }
  if (status !== 'taken') return { problem: reason ?? 'refused', renew_at_ms: now + REFUSED_MS }
  const taken = { told_revision: told, problem: null }
  // Changed meanwhile: that is due already.
  if (row.revision !== told) return taken
  if (row.wanted === 'ended' || row.wanted === 'erased')
    return { ...taken, until_ms: now, needs_keys: 1, renew_at_ms: NEVER_MS }
  const needs_keys = row.wanted === 'open' ? 0 : row.needs_keys
  const renew_at_ms = now + (share === null ? renewedMs(parts) : Math.min(renewedMs(parts), SHARE_MS))
  return { ...taken, needs_keys, until_ms: now + leaseMs(context.config.lease), renew_at_ms }
}

/** How long what was taken is not looked at again. */
function renewedMs({ context }: RoamingParts): number {
  return Math.floor(leaseMs(context.config.lease) * RENEWED_AFTER)
}

async function toldLeases(
  parts: RoamingParts,
  key: BoxKey,
  due: readonly LeaseRow[],
): Promise<readonly ToldLease[]> {
  const told: ToldLease[] = []
  for (const row of due) {
    const isSealed = row.wanted === 'open' && row.needs_keys === 1
    const sealed = isSealed ? await sealedCard(parts, row, key) : null
    // It is gone: the plan ends its lease.
    if (sealed === undefined) continue
    told.push({
      imsi_sha256_12: row.hash,
      revision: row.revision,
      state: row.wanted,
      valid_s: Math.max(1, Math.floor(leaseMs(parts.context.config.lease) / 1_000)),
      ind: row.ind,
      seq: row.seq,
      sealed,
      ...(await shareOf(parts, row)),
    })
  }
  return told
}

/** What the SIM may use there before this box is heard again: an equal part of what is left, one for each place where it works. */
async function shareOf(
  { context }: RoamingParts,
  row: LeaseRow,
): Promise<Pick<ToldLease, 'share_bytes' | 'counted_visit' | 'counted_bytes'>> {
  // A hash of the store is one.
  const imsi = row.hash as ImsiHash
  const quota = (await context.maybe(quotaKeeperRef)?.used([imsi]))?.get(imsi)
  const { node_id, visit } = row
  const count = visit === null ? undefined : await COUNTS.find(context.db, { node_id, visit })
  const counted = {
    counted_visit: visit,
    counted_bytes: sumOctets(count?.up_bytes ?? 0, count?.down_bytes ?? 0),
  }
  if (quota?.limitBytes === undefined) return { share_bytes: null, ...counted }
  const places = 1 + (await leasesOf(context.db, row.hash)).filter(({ wanted }) => wanted === 'open').length
  return { share_bytes: Math.floor(Math.max(0, quota.limitBytes - quota.usedBytes) / places), ...counted }
}

async function sealedCard(
  { context, node }: RoamingParts,
  { hash, node_id }: LeaseRow,
  key: { readonly id: string; readonly x: string },
): Promise<string | undefined> {
  // A hash of the store is one.
  const subscriber = await context.use(simProvisioningRef).subscriber(hash as ImsiHash)
  if (subscriber === undefined) return undefined
  const packed = packCard(subscriber)
  try {
    return await sealTo(key, { home: node.nodeId, visited: node_id }, packed)
  } finally {
    packed.fill(0)
    wipeCard(subscriber)
  }
}

async function ask(
  { context }: RoamingParts,
  box: Pick<BoxRow, 'node_id' | 'name'>,
  body: {
    readonly stays_after: number
    readonly counted: readonly string[]
    readonly leases: readonly ToldLease[]
  },
  signal: AbortSignal,
): Promise<LeasesAnswer> {
  try {
    const question = { method: 'POST', path: '/v1/roaming/leases', body } as const
    const said = await context.use(boxCallsRef).call(box.node_id, question, signal)
    const answer = said.status === 200 ? readAnswer(said.body) : undefined
    if (answer !== undefined) return answer
    throw southboundUnavailable(`${box.name} answered ${answerText(said)} to its leases`)
  } catch (cause) {
    signal.throwIfAborted()
    await context.db.write((tx) => changeBox(tx, box, { problem: messageOf(cause) }))
    throw cause
  }
}

/** What of a visit was not counted yet; undefined where that is nothing, and of a SIM that never had a lease there. */
async function growthOf(
  reader: Reader,
  node_id: string,
  { imsi_sha256_12: hash, visit, up_bytes, down_bytes, is_over }: VisitUsage,
): Promise<{ readonly up: number; readonly down: number } | undefined> {
  if ((await LEASES.find(reader, { hash, node_id })) === undefined) return undefined
  const counted = await COUNTS.find(reader, { node_id, visit })
  if (counted !== undefined && counted.hash !== hash) return undefined
  const up = Math.max(0, up_bytes - (counted?.up_bytes ?? 0))
  const down = Math.max(0, down_bytes - (counted?.down_bytes ?? 0))
  const isNews = up + down > 0 || (is_over && counted?.is_over !== 1)
  return isNews ? { up, down } : undefined
}

/** Counts what visitors have used, with how far it was counted, in one transaction: once, however often it is told. */
async function bookUsage(
  { context }: RoamingParts,
  { node_id, name }: Pick<BoxRow, 'node_id' | 'name'>,
  usage: readonly VisitUsage[],
): Promise<void> {
  const ledger = context.maybe(usageLedgerRef)
  if (ledger === undefined) return
  const grown: VisitUsage[] = []
  for (const told of usage) if ((await growthOf(context.db, node_id, told)) !== undefined) grown.push(told)
  if (grown.length === 0) return
  await context.mutate(BY, 'roaming.usage', node_id, async (tx) => {
    for (const told of grown) {
      const { imsi_sha256_12: hash, visit } = told
      const lease = await LEASES.find(tx, { hash, node_id })
      const growth = await growthOf(tx, node_id, told)
      if (lease === undefined || growth === undefined) continue
      const { up, down } = growth
      const before = await COUNTS.find(tx, { node_id, visit })
      await COUNTS.put(tx, {
        ...{ node_id, visit, hash, is_over: told.is_over ? 1 : 0 },
        up_bytes: (before?.up_bytes ?? 0) + up,
        down_bytes: (before?.down_bytes ?? 0) + down,
      })
      const [up_bytes, down_bytes] = [lease.up_bytes + up, lease.down_bytes + down]
      await LEASES.put(tx, { ...lease, visit, up_bytes, down_bytes })
      const totals = { upBytes: up, downBytes: down, isIncomplete: false }
      // A hash of the store is one.
      if (up + down > 0)
        await ledger.submit(tx, hash as ImsiHash, `visit:${name}`, totals, context.clock.nowMs())
    }
    tx.audit({ detail: { sims: grown.map(({ imsi_sha256_12: hash }) => hash) } })
  })
}
