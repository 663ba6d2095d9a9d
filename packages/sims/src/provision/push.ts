import {
  type Ambr,
  type Context,
  createPause,
  type HssDriver,
  type Imsi,
  type Subscriber,
  type SubscriberHeld,
  type SubscriberObserved,
  type Vault,
} from '@steeple/contracts'
import { imsiHash } from '@steeple/telecom'
import type { SimsParts } from '../parts.ts'
import { openCard, openFound, openImsi, wipeCard } from '../secrets/card.ts'
import { type SimNews, tellOfSims, wantedInHss } from '../states/change.ts'
import { apnsOf, ifSound, SIMS, type SimRow } from '../store/sim-store.ts'
import { replaceWords } from '../store/word-store.ts'

/** SQN = SEQ ‖ IND with 5 bits of IND. TS 33.102 annex C.3.2. */
const SQN_STEP = 32n
/** SQN has 48 bits. TS 33.102 §6.3.2. */
const SQN_MASK = (1n << 48n) - 1n

/** Runs `work` with the subscribers of rows, then wipes their keys. Keys of rows that do not open stay closed. */
export async function withSubscribers<T>(
  vault: Vault,
  rows: readonly SimRow[],
  work: (subscribers: readonly Subscriber[]) => Promise<T>,
): Promise<T> {
  const cards = rows.map((row) => openCard(vault, row))
  try {
    return await work(
      rows.map((row, i): Subscriber => {
        const { ki, opc } = cards[i] ?? { ki: new Uint8Array(), opc: new Uint8Array() }
        return { ...wantedOf(row, openImsi(vault, row)), ...foundOf(vault, row), ki, opc, sqn: sqnOf(row) }
      }),
    )
  } finally {
    for (const card of cards) wipeCard(card)
  }
}

/** The subscriber of a row; the caller wipes its keys. Throws `store_corrupt`. */
export function subscriberOf(vault: Vault, row: PushedSim): Subscriber {
  const imsi = openImsi(vault, row)
  const card = openCard(vault, row)
  // Not `slice`: of a Buffer that is a view, and wiped with the card.
  const [ki, opc] = [Uint8Array.from(card.ki), Uint8Array.from(card.opc)]
  wipeCard(card)
  return { ...wantedOf(row, imsi), ...foundOf(vault, row), ki, opc, sqn: sqnOf(row) }
}

function foundOf(vault: Vault, row: Pick<SimRow, 'hash' | 'found_sealed'>): Pick<Subscriber, 'found'> {
  const found = openFound(vault, row)
  return found === undefined ? {} : { found }
}

/** What of a row makes a subscriber. */
type PushedSim = Pick<SimRow, 'hash' | 'imsi_sealed' | 'secrets_sealed' | 'found_sealed' | 'hss_seq'> &
  Parameters<typeof wantedOf>[0]

/** What the HSS should say of a row whose IMSI is open. */
export function wantedOf(
  row: Pick<SimRow, 'apns' | 'uplink_bps' | 'downlink_bps' | 'cap_bps' | 'state' | 'msisdn'>,
  imsi: Imsi,
): SubscriberObserved {
  return {
    imsi,
    apns: apnsOf(row),
    ambrBps: { up: capped(row.uplink_bps, row), down: capped(row.downlink_bps, row) },
    isBlocked: wantedInHss(row.state) !== 'open',
    ...(row.msisdn === null ? {} : { msisdn: row.msisdn }),
  }
}

function capped(bps: number, { cap_bps }: Pick<SimRow, 'cap_bps'>): number {
  return cap_bps === null ? bps : Math.min(bps, cap_bps)
}

/** With which SQN the subscriber is inserted; a driver never writes it again. */
function sqnOf(row: Pick<SimRow, 'hss_seq'>): bigint {
  return (BigInt(row.hss_seq) * SQN_STEP) & SQN_MASK
}

export const MISSING = 'the subscriber was missing in the HSS'

/** What differs between what the HSS should hold and what it holds; undefined when nothing does. */
export function driftOf(
  wanted: SubscriberObserved,
  seen: SubscriberObserved | undefined,
): string | undefined {
  if (seen === undefined) return MISSING
  if (seen.isBlocked !== wanted.isBlocked)
    return wanted.isBlocked
      ? 'the subscriber was unblocked in the HSS'
      : 'the subscriber was blocked in the HSS'
  const isSameApns = seen.apns.toSorted().join() === wanted.apns.toSorted().join()
  if (!isSameApns) return 'the APNs were changed in the HSS'
  const isSameAmbr =
    isNear(seen.ambrBps.up, wanted.ambrBps.up) && isNear(seen.ambrBps.down, wanted.ambrBps.down)
  if (!isSameAmbr) return 'the AMBR was changed in the HSS'
  return seen.msisdn === wanted.msisdn ? undefined : 'the MSISDN was changed in the HSS'
}

/** An HSS keeps some rates in whole kbit/s or Mbit/s: what rounding explains is no drift. */
function isNear(seen: number, wanted: number): boolean {
  return Math.abs(seen - wanted) <= Math.max(wanted / 1000, 1)
}

/** What an import may leave open. */
export type AsIs = 'apns' | 'ambr' | 'msisdn' | 'expires_at'
export const AS_IS: readonly AsIs[] = ['apns', 'ambr', 'msisdn', 'expires_at']

/** When a SIM expires that an operator's HSS held without an end: 9999-12-31T23:59:59Z. */
export const NEVER_MS: number = Date.UTC(9999, 11, 31, 23, 59, 59)
/** Digits of an MSISDN, ITU-T E.164. */
export const MSISDN: RegExp = /^[0-9]{3,15}$/

/** What of a row an HSS may say. */
type Open = Pick<SimRow, 'apns' | 'downlink_bps' | 'uplink_bps' | 'msisdn' | 'expires_at_ms' | 'as_is'>

/** A row with what its import left open as the HSS has it; as it is when that does not hold the subscriber. */
export function adopted<Row extends Open>(row: Row, held: SubscriberHeld | undefined): Row {
  const open = new Set((row.as_is ?? '').split(' '))
  const { apns = [], ambrBps, msisdn } = held ?? {}
  return {
    ...row,
    as_is: null,
    ...(open.has('apns') && apns.length > 0 ? { apns: JSON.stringify(apns) } : {}),
    ...(open.has('ambr') && ambrBps !== undefined
      ? { downlink_bps: ambrBps.down, uplink_bps: ambrBps.up }
      : {}),
    ...(open.has('msisdn') && msisdn !== undefined && MSISDN.test(msisdn) ? { msisdn } : {}),
    ...(open.has('expires_at') && held !== undefined ? { expires_at_ms: NEVER_MS } : {}),
  }
}

/** What the HSS holds of these, whoever wrote it; of a driver that only observes, what that tells. */
export async function heldBy(
  driver: HssDriver,
  imsis: readonly Imsi[],
  signal: AbortSignal,
): Promise<ReadonlyMap<Imsi, SubscriberHeld>> {
  if (driver.existing !== undefined) return await driver.existing(imsis, signal)
  const seen = await driver.observe(imsis, signal)
  return new Map(
    [...seen].map(([imsi, { apns, ambrBps, isBlocked, msisdn }]) => [
      imsi,
      { apns, ambrBps: known(ambrBps), sessionAmbrBps: new Map(), msisdn, isBlocked },
    ]),
  )
}

function known(rate: Ambr): Ambr | undefined {
  return rate.up > 0 && rate.down > 0 ? rate : undefined
}

/**
 * Rows as they are to be pushed: what an import left open is looked up in the HSS first and kept, durably, so that the push
 * overwrites nothing that nobody spoke of. Undefined when the HSS did not answer.
 */
async function adoptRows(
  parts: SimsParts,
  driver: HssDriver,
  rows: readonly SimRow[],
  signal: AbortSignal,
): Promise<readonly SimRow[] | undefined> {
  const open = rows.filter(({ as_is }) => as_is !== null)
  if (open.length === 0) return rows
  const imsis = open.map((row) => openImsi(parts.vault, row))
  const found = await parts.hss.call(signal, (bound) => heldBy(driver, imsis, bound))
  if (found === undefined) return undefined
  const held = new Map<string, SubscriberHeld>([...found].map(([imsi, of]) => [imsiHash(imsi), of]))
  await parts.context.observe(async (tx) => {
    for (const { hash } of open) {
      const now = await SIMS.find(tx, { hash })
      if (now === undefined || now.as_is === null) continue
      const after = adopted(now, held.get(hash))
      await SIMS.put(tx, after)
      if (after.msisdn !== now.msisdn) await replaceWords(tx, after)
    }
  })
  return rows.map((row) => (row.as_is === null ? row : adopted(row, held.get(row.hash))))
}

/** What a push has found of one SIM. `row` is what was pushed. */
export interface Mark {
  readonly row: SimRow
  /** Undefined: the HSS holds it now. Otherwise why not. */
  readonly error: string | undefined
  readonly status: 'synced' | 'pending' | 'failed'
}

/** Of a SIM that the HSS gave no answer for: the breaker says why, for all of them, and nothing is written. */
export function unanswered(row: SimRow): Mark {
  return { row, error: row.hss_error ?? undefined, status: 'pending' }
}

const TYPES: Readonly<Record<Mark['status'], SimNews['type']>> = {
  synced: 'sim.synced',
  pending: 'sim.pending',
  failed: 'sim.refused',
}

/** Writes the marks in one transaction, and tells of those that stand otherwise then. A SIM that was changed since it was read stays pending. */
export async function writeMarks(
  context: Pick<Context, 'observe'>,
  driver: string,
  nowMs: number,
  marks: readonly Mark[],
): Promise<void> {
  const news = marks.filter((mark) => !isKnown(mark, driver))
  if (news.length === 0) return
  await context.observe(async (tx) => {
    const pause = createPause()
    const told: SimNews[] = []
    for (const mark of news) {
      const { hash } = mark.row
      const now = await SIMS.find(tx, { hash })
      if (now !== undefined) {
        const next = marked(now, mark, driver, nowMs)
        await SIMS.put(tx, next)
        const isOther = next.hss_status !== now.hss_status || next.hss_driver !== now.hss_driver
        if (isOther) told.push({ type: TYPES[next.hss_status as Mark['status']], hash })
      }
      await pause()
    }
    tellOfSims(tx, told)
  })
}

function marked(now: SimRow, { row, error, status }: Mark, driver: string, nowMs: number): SimRow {
  const isStale = now.generation !== row.generation
  const held = status === 'synced' ? { hss_driver: driver, hss_synced_at_ms: nowMs } : {}
  return isStale
    ? { ...now, ...held, hss_status: 'pending' }
    : { ...now, ...held, hss_status: status, hss_error: error ?? null }
}

/** Whether the row says that already: a push that keeps failing for one reason is written once. */
function isKnown({ row, error, status }: Mark, driver: string): boolean {
  return (
    row.hss_status === status &&
    row.hss_error === (error ?? null) &&
    (status !== 'synced' || row.hss_driver === driver)
  )
}

/** Says that the HSS lacks what it had; `seq` is later than every SEQ used. Gives whether the SIM still is as it was read. */
export async function markDrifted(
  context: Pick<Context, 'observe'>,
  rows: readonly {
    readonly row: Pick<SimRow, 'hash' | 'generation'>
    readonly reason: string
    readonly seq: number
  }[],
): Promise<void> {
  await context.observe(async (tx) => {
    const told: SimNews[] = []
    for (const { row, reason, seq } of rows) {
      const now = await ifSound(() => SIMS.find(tx, { hash: row.hash }))
      if (now === undefined || now.generation !== row.generation) continue
      await SIMS.put(tx, {
        ...now,
        hss_status: 'pending',
        hss_error: reason,
        hss_seq: Math.max(now.hss_seq, seq),
      })
      if (now.hss_status !== 'pending') told.push({ type: TYPES.pending, hash: row.hash })
    }
    tellOfSims(tx, told)
  })
}

/**
 * A SEQ that no authentication since the SIM was issued can have reached: one for each second. It stays within the
 * 2^28 that a card accepts in one step (TS 33.102 annex C.2.1) for eight years.
 */
export function laterSeq(row: Pick<SimRow, 'hss_seq' | 'issued_at_ms'>, nowMs: number): number {
  return Math.max(row.hss_seq + 1, seqAt(row, nowMs))
}

/**
 * Pushes rows whole. The error of each, in their order; undefined when the HSS did not answer.
 */
export async function upsertRows(
  parts: SimsParts,
  driver: HssDriver,
  rows: readonly SimRow[],
  signal: AbortSignal,
): Promise<readonly (Error | undefined)[] | undefined> {
  const whole = await adoptRows(parts, driver, rows, signal)
  const ready = whole === undefined ? undefined : await withLaterSeq(parts, driver, whole, signal)
  if (ready === undefined) return undefined
  return await withSubscribers(parts.vault, ready, (subscribers) => {
    const imsis = subscribers.map(({ imsi }) => imsi)
    return parts.hss.write(signal, imsis, (bound) => driver.upsert(subscribers, bound))
  })
}

/**
 * The rows as they are to be pushed: one whose subscriber the HSS has held and lost gets a later SEQ first, durably,
 * so that every further try brings the same. Undefined when the HSS did not answer.
 */
async function withLaterSeq(
  parts: SimsParts,
  driver: HssDriver,
  rows: readonly SimRow[],
  signal: AbortSignal,
): Promise<readonly SimRow[] | undefined> {
  const doubtful = rows.filter(mayBeLost)
  if (doubtful.length === 0) return rows
  const imsis = doubtful.map((row) => openImsi(parts.vault, row))
  const seen = await parts.hss.call(signal, (bound) => driver.observe(imsis, bound))
  if (seen === undefined) return undefined
  const there = new Set<string>([...seen.keys()].map(imsiHash))
  const nowMs = parts.context.clock.nowMs()
  const lost = doubtful
    .filter(({ hash }) => !there.has(hash))
    .map((row) => ({ row, reason: MISSING, seq: laterSeq(row, nowMs) }))
  if (lost.length === 0) return rows
  await markDrifted(parts.context, lost)
  const seqs = new Map(lost.map(({ row, seq }) => [row.hash, seq]))
  return rows.map((row) => ({ ...row, hss_seq: seqs.get(row.hash) ?? row.hss_seq }))
}

/** Whether it was in an HSS and its SEQ has not grown since it was last seen there. */
function mayBeLost(row: SimRow): boolean {
  if (row.hss_synced_at_ms === null || row.hss_driver === 'none') return false
  return row.hss_seq <= seqAt(row, row.hss_synced_at_ms)
}

function seqAt(row: Pick<SimRow, 'issued_at_ms'>, atMs: number): number {
  return Math.floor((atMs - row.issued_at_ms) / 1_000) + 1
}
