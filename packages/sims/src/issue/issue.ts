import {
  capacityExceeded,
  forbidden,
  type Imsi,
  type ImsiHash,
  type MutationTx,
  policyRef,
  quotaKeeperRef,
  type Reply,
  type Request,
  simExists,
  simNotFound,
} from '@steeple/contracts'
import { formatPlmn, imsiHash, safeText } from '@steeple/telecom'
import { newSight } from '../attach/sight.ts'
import { type BatchFiles, batchDir, batchFiles, writeNewBatch } from '../batch/batch-files.ts'
import { cardsCsv, type NewCard } from '../batch/cards-csv.ts'
import { drawBatchKey, sealCards } from '../batch/cards-file.ts'
import { manifestOf } from '../batch/manifest.ts'
import { FILES_RESOURCE, SIM_RESOURCE, type SimsParts } from '../parts.ts'
import { firstHss } from '../provision/first-hss.ts'
import { simRecord } from '../record.ts'
import { wipeCard } from '../secrets/card.ts'
import type { IccidMac } from '../secrets/iccid-index.ts'
import { wipe } from '../secrets/octets.ts'
import { drawOctets } from '../secrets/random.ts'
import { sealSim } from '../secrets/sealing.ts'
import { noteMove } from '../states/change.ts'
import { BATCHES, type BatchRow } from '../store/batch-store.ts'
import { SIMS, type SimRow } from '../store/sim-row.ts'
import { isTaken } from '../store/sim-store.ts'
import { addWords } from '../store/word-store.ts'
import { drawCard, drawImsi } from './draw.ts'
import { type IssuePlan, issuePlan } from './issue-plan.ts'
import type { IssueBody } from './issue-schema.ts'
import { readOp } from './op-file.ts'
import { issuerOf, mayReplace, swapOut } from './swap.ts'

/** SIMs that are drawn and sealed, but neither in the store nor on the disk yet. */
interface Prepared {
  readonly rows: readonly SimRow[]
  readonly batch: BatchRow
  readonly files: BatchFiles
}

/**
 * Issues SIMs: their rows are durable and the files of the batch are there before the answer. The files hold nothing
 * that the rows do not: what a crash or a full disk does to them is repaired from the rows.
 * Throws `validation_failed`, `plmn_mismatch`, `sim_exists`, `sim_not_found`, `sim_swap_cooldown`, `capacity_exceeded`,
 * `forbidden` and `rate_limited` for a SIM that may not be replaced.
 */
export async function issueSims(
  parts: SimsParts,
  request: Request<unknown, unknown, IssueBody | undefined>,
): Promise<Reply> {
  const { context, hss } = parts
  const body = request.body ?? {}
  const replaced = body.replaces === undefined ? undefined : await replacedBy(parts, body.replaces)
  const plan = issuePlan(body, {
    plmn: context.settings.plmn,
    policyApns: policyApns(parts),
    config: context.config,
    nowMs: context.clock.nowMs(),
    replaced,
  })
  checkCapacity(parts, plan.count)
  const isForbidden = replaced !== undefined && !(await mayReplace(parts, request.principal, replaced))
  if (replaced !== undefined && !isForbidden) await request.take('sim_revoke', 1)
  const issuer = issuerOf(request.principal)
  const { rows, batch, files } = await prepare(parts, plan, { replaced, issuer })
  const [first] = rows
  const target = plan.count === 1 && first !== undefined ? first.hash : batch.id
  const reply = await request.mutate(target, async (tx) => {
    // In here the refusal is audited.
    if (isForbidden) throw forbidden('sim:admin')
    if (replaced !== undefined) await swapOut(parts, tx, replaced.hash)
    await BATCHES.insert(tx, batch)
    for (const row of rows) {
      if (!(await SIMS.insertNew(tx, row))) throw simExists(row.hash)
      await addWords(tx, [row])
      noteMove(parts, tx, undefined, row)
      if (row.hss_status !== 'synced') tx.dirty(SIM_RESOURCE, row.hash)
    }
    await grantQuota(parts, tx, rows, replaced)
    const facts = { batch_id: batch.id, count: rows.length, profile: plan.profile }
    tx.audit({
      detail: { ...facts, ids: rows.map(({ hash }) => hash), replaces: replaced?.hash ?? null },
    })
    tx.event({ type: 'sim.issue', subject: first?.hash ?? batch.id, data: facts })
    return {
      status: 201,
      body: {
        issued: rows.length,
        output_dir: batchDir(context.settings.server.data_dir, batch.id),
        batch_id: batch.id,
        first: {
          imsi_sha256_12: first?.hash ?? '',
          expires_at: new Date(plan.expiresAtMs).toISOString(),
        },
        sims: rows.map((row) => simRecord(row, hss.view(), newSight(parts))),
      },
    }
  })
  putFiles(parts, batch.id, files)
  return reply
}

/** Quotas begin with the SIMs; what replaces another one has its period and action. */
async function grantQuota(
  { context }: SimsParts,
  tx: MutationTx,
  rows: readonly SimRow[],
  replaced: SimRow | undefined,
): Promise<void> {
  const quotaBytes = rows[0]?.quota_bytes ?? null
  if (quotaBytes === null) return
  // Hashes of rows are hashes.
  const imsis = rows.map(({ hash }) => hash as ImsiHash)
  const like = replaced === undefined ? undefined : (replaced.hash as ImsiHash)
  await context.maybe(quotaKeeperRef)?.granted(tx, imsis, quotaBytes, like)
}

/** The SIMs are issued whatever comes of their files: those that cannot be written now are written later. */
function putFiles({ context, batchTrouble }: SimsParts, batchId: string, files: BatchFiles): void {
  try {
    writeNewBatch(context.settings.server.data_dir, batchId, files)
  } catch (error) {
    const reason = safeText(error)
    batchTrouble.failed(batchId, reason)
    context.log.warn({ batch: batchId, reason }, 'files of a batch could not be written')
    context.enqueue(FILES_RESOURCE, batchId)
  }
}

/** The APNs of the policy in force. */
export function policyApns({ context }: SimsParts): readonly string[] {
  return context.maybe(policyRef)?.bundle().apns ?? context.settings.policy.apns
}

/** Throws `capacity_exceeded` when `count` more SIMs are too many. */
export function checkCapacity({ context, counters }: SimsParts, count: number): void {
  const { max_sims } = context.config
  if (counters.total + count > max_sims)
    throw capacityExceeded(
      `this node keeps at most ${max_sims} SIMs (sims.max_sims) and has ${counters.total}; ${count} more do not fit`,
    )
}

async function replacedBy({ context }: SimsParts, hash: string): Promise<SimRow> {
  const row = await SIMS.find(context.db, { hash })
  if (row === undefined) throw simNotFound(hash)
  return row
}

async function prepare(
  parts: SimsParts,
  plan: IssuePlan,
  { replaced, issuer }: { readonly replaced: SimRow | undefined; readonly issuer: string },
): Promise<Prepared> {
  const { context, vault } = parts
  const imsis = plan.imsis === undefined ? await drawImsis(parts, plan) : await freeImsis(parts, plan.imsis)
  const op = await readOp(context.config.op_file)
  const cards = imsis.map((imsi) => ({ imsi, card: drawCard(plan.plmn, op) }))
  const key = drawBatchKey()
  try {
    const { nowMs } = plan
    const id = batchId(nowMs)
    const mac = await parts.iccids.mac()
    const rows = cards.map((card) => newRow(parts, plan, card, { id, nowMs, replaced, mac }))
    const batch: BatchRow = {
      id,
      created_at_ms: nowMs,
      sims: rows.length,
      profile: plan.profile,
      plmn: formatPlmn(plan.plmn),
      label: plan.label,
      key_sealed: vault.seal(key, `sims_batch/${id}`),
      issued_by: issuer,
      files_at_ms: null,
    }
    const csv = cardsCsv(cards)
    const sealed = sealCards(csv, key, id)
    wipe(csv)
    return { rows, batch, files: batchFiles(manifestOf(batch, rows), sealed) }
  } finally {
    for (const { card } of cards) wipeCard(card)
    wipe(key, ...(op === undefined ? [] : [op]))
  }
}

/** `b-20261121-` and 12 random letters and digits. */
function batchId(nowMs: number): string {
  const day = new Date(nowMs).toISOString().slice(0, 10).replaceAll('-', '')
  const letters = Array.from(drawOctets(12), (octet) => (octet % 32).toString(32)).join('')
  return `b-${day}-${letters}`
}

/** Random IMSIs whose hashes clash neither with each other nor with a stored one. */
async function drawImsis({ context }: SimsParts, { count, plmn }: IssuePlan): Promise<readonly Imsi[]> {
  const drawn = new Map<string, Imsi>()
  // A network with few numbers left must not keep the service busy for ever.
  for (let tries = 0; drawn.size < count && tries < count * 20 + 100; tries++) {
    const imsi = drawImsi(plmn)
    const hash = imsiHash(imsi)
    if (!drawn.has(hash) && !(await isTaken(context.db, hash))) drawn.set(hash, imsi)
  }
  if (drawn.size < count)
    throw capacityExceeded(`the network ${formatPlmn(plmn)} has no ${count} free subscriber numbers`)
  // The order of the files, which can be made from the rows again.
  return [...drawn.values()].sort()
}

async function freeImsis({ context }: SimsParts, imsis: readonly Imsi[]): Promise<readonly Imsi[]> {
  const hashes = new Set<string>()
  for (const imsi of imsis) {
    const hash = imsiHash(imsi)
    if (hashes.has(hash) || (await isTaken(context.db, hash))) throw simExists(hash)
    hashes.add(hash)
  }
  return imsis
}

function newRow(
  parts: SimsParts,
  plan: IssuePlan,
  { imsi, card }: NewCard,
  facts: {
    readonly id: string
    readonly nowMs: number
    readonly replaced: SimRow | undefined
    readonly mac: IccidMac
  },
): SimRow {
  const hash = imsiHash(imsi)
  const iccid = Buffer.from(card.iccid).toString('ascii')
  return {
    hash,
    plmn: formatPlmn(plan.plmn),
    profile: plan.profile,
    state: 'issued',
    previous_state: null,
    suspend_reason: null,
    apns: JSON.stringify(plan.apns),
    downlink_bps: plan.downlinkBps,
    uplink_bps: plan.uplinkBps,
    quota_bytes: plan.quotaBytes,
    usage_bytes: 0,
    cap_bps: null,
    reach: null,
    msisdn: plan.msisdn,
    label: plan.label,
    batch_id: facts.id,
    iccid_last4: iccid.slice(-4),
    iccid_mac: facts.mac(iccid),
    issued_at_ms: facts.nowMs,
    expires_at_ms: plan.expiresAtMs,
    attached_at_ms: null,
    swapped_at_ms: facts.replaced === undefined ? null : facts.nowMs,
    replaces: facts.replaced?.hash ?? null,
    generation: 1,
    ...sealSim(parts.vault, hash, imsi, card),
    ...firstHss(parts, facts.nowMs),
  }
}
