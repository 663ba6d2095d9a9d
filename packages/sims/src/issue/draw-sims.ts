import { capacityExceeded, type Imsi, simExists } from '@steeple/contracts'
import { formatPlmn, imsiHash } from '@steeple/telecom'
import { type BatchFiles, batchFiles } from '../batch/batch-files.ts'
import { cardsCsv, type NewCard } from '../batch/cards-csv.ts'
import { drawBatchKey, sealCards } from '../batch/cards-file.ts'
import { manifestOf } from '../batch/manifest.ts'
import type { SimsParts } from '../parts.ts'
import { firstHss } from '../provision/first-hss.ts'
import { wipeCard } from '../secrets/card.ts'
import type { IccidMac } from '../secrets/iccid-index.ts'
import { wipe } from '../secrets/octets.ts'
import { drawOctets } from '../secrets/random.ts'
import { sealSim } from '../secrets/sealing.ts'
import type { BatchRow } from '../store/batch-store.ts'
import type { SimRow } from '../store/sim-row.ts'
import { isTaken } from '../store/sim-store.ts'
import { drawCard, drawImsi } from './draw.ts'
import type { IssuePlan } from './issue-plan.ts'
import { readOp } from './op-file.ts'

/** SIMs that are drawn and sealed, but neither in the store nor on the disk yet. */
export interface DrawnSims {
  readonly rows: readonly SimRow[]
  readonly batch: BatchRow
  readonly files: BatchFiles
}

/**
 * Draws and seals the SIMs of a plan. `replaced`: whose place the one takes; `issuer`: as a batch remembers it.
 * Throws `capacity_exceeded` when the network has too few free numbers, `sim_exists` for an IMSI that was asked for.
 */
export async function drawSims(
  parts: SimsParts,
  plan: IssuePlan,
  { replaced, issuer }: { readonly replaced: SimRow | undefined; readonly issuer: string },
): Promise<DrawnSims> {
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
