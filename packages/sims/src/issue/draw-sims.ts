import { capacityExceeded, type Imsi, simExists, timestampFromMs } from '@steeple/contracts'
import { formatPlmn, imsiHash } from '@steeple/telecom'
import type { NewCard } from '../batch/cards-csv.ts'
import type { SimsParts } from '../parts.ts'
import { firstHss } from '../provision/first-hss.ts'
import { wipeCard } from '../secrets/card.ts'
import type { IccidMac } from '../secrets/iccid-mac.ts'
import { wipe } from '../secrets/octets.ts'
import { drawOctets } from '../secrets/random.ts'
import { sealSim } from '../secrets/sealing.ts'
import type { BatchRow } from '../store/batch-store.ts'
import type { SimRow } from '../store/sim-row.ts'
import { isTaken } from '../store/sim-store.ts'
import { drawCard, drawImsi } from './draw.ts'
import type { IssuePlan } from './issue-plan.ts'
import { readOp } from './op-file.ts'

/** SIMs that are drawn and sealed, but not in the store yet. */
export interface DrawnSims {
  readonly rows: readonly SimRow[]
  readonly batch: BatchRow
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
  const numbers = plan.imsis === undefined ? await drawImsis(parts, plan) : await freeImsis(parts, plan.imsis)
  const op = await readOp(context.config.op_file)
  const cards = numbers.map((number) => ({ ...number, card: drawCard(plan.plmn, op) }))
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
      key_sealed: vault.seal(new Uint8Array(), `sims_batch/${id}`),
      issued_by: issuer,
      files_at_ms: null,
    }
    return { rows, batch }
  } finally {
    for (const { card } of cards) wipeCard(card)
    if (op !== undefined) wipe(op)
  }
}

const LETTERS = '0123456789abcdefghijklmnopqrstuv'

/** `b-20261121-` and 12 random letters and digits. */
function batchId(nowMs: number): string {
  const date = timestampFromMs(nowMs)
  let id = `b-${date.slice(0, 4)}${date.slice(5, 7)}${date.slice(8, 10)}-`
  for (const octet of drawOctets(12)) id += LETTERS[octet % LETTERS.length]
  return id
}

/** An IMSI that no SIM has, with its hash. */
interface FreeNumber {
  readonly hash: string
  readonly imsi: Imsi
}

/** Random IMSIs whose hashes clash neither with each other nor with a stored one. */
async function drawImsis({ context }: SimsParts, { count, plmn }: IssuePlan): Promise<readonly FreeNumber[]> {
  const drawn = new Map<string, Imsi>()
  // A network with few numbers left must not keep the service busy for ever.
  for (let tries = 0; drawn.size < count && tries < count * 20 + 100; tries++) {
    const imsi = drawImsi(plmn)
    const hash = imsiHash(imsi)
    if (!drawn.has(hash) && !(await isTaken(context.db, hash))) drawn.set(hash, imsi)
  }
  if (drawn.size < count)
    throw capacityExceeded(`the network ${formatPlmn(plmn)} has no ${count} free subscriber numbers`)
  return [...drawn]
    .map(([hash, imsi]) => ({ hash, imsi }))
    .sort((one, other) => (one.imsi < other.imsi ? -1 : 1))
}

async function freeImsis({ context }: SimsParts, imsis: readonly Imsi[]): Promise<readonly FreeNumber[]> {
  const free = new Map<string, FreeNumber>()
  for (const imsi of imsis) {
    const hash = imsiHash(imsi)
    if (free.has(hash) || (await isTaken(context.db, hash))) throw simExists(hash)
    free.set(hash, { hash, imsi })
  }
  return [...free.values()]
}

function newRow(
  parts: SimsParts,
  plan: IssuePlan,
  { hash, imsi, card }: NewCard & FreeNumber,
  facts: {
    readonly id: string
    readonly nowMs: number
    readonly replaced: SimRow | undefined
    readonly mac: IccidMac
  },
): SimRow {
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
    as_is: null,
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
