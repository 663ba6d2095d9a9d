import { hash } from 'node:crypto'
import type { Reader, Tx, Vault } from '@steeple/contracts'
import type { Authority } from '../certs/authority.ts'
import type { ProfileVersion } from '../parts.ts'
import type { NoticeEvent } from '../rsp/euicc-messages.ts'
import { type CodeRow, type EuiccRow, HELD, type HeldRow, NOTICES, type NoticeRow } from './rows.ts'

/** Failures are counted anew after so long. */
const WINDOW_MS = 86_400_000
/** So many are free: people mistype. */
const FREE_FAILURES = 2
const FIRST_LOCK_MS = 2_000
const LONGEST_LOCK_MS = 3_600_000
/** eUICCs that hold nothing are forgotten after so long, and the oldest ones when there are more of them. */
const FORGET_MS: number = 30 * WINDOW_MS
const MOST_STRANGERS = 5_000

/** An eUICC by its EID and who answers for that. */
export interface NamedEuicc {
  /** 32 digits. */
  readonly eid: string
  readonly authority: Authority
  /** `euiccId` of both. */
  readonly hash: string
}

/**
 * What an eUICC is called in the store (hex): SHA-256 of the 32 digits of its EID where this service answers for it by a CI of
 * its own, and SHA-256 of that behind the authority where another one does. Versions before had the first for all.
 */
export function euiccId(authority: Authority, eid: string): string {
  const plain = hash('sha256', eid)
  return authority === 'own' ? plain : hash('sha256', `${authority} ${plain}`)
}

/** The 32 digits of the EID of a row. Throws `store_corrupt`. */
export function eidOfRow(vault: Vault, { eid_sealed, eid_hash }: EuiccRow): string {
  return Buffer.from(vault.open(eid_sealed, `esim_smdp_euicc/${eid_hash}`)).toString('latin1')
}

/** The version of profile packages that it has said last; undefined when it said none. */
export function versionOfRow(row: EuiccRow | undefined): ProfileVersion | undefined {
  const [major, minor] = row?.profile_version?.split('.').map(Number) ?? []
  return major === undefined || minor === undefined ? undefined : [major, minor]
}

/** The first 12 characters of SHA-256 of an EID, as answers and events show it. */
export function shownEid(eid: string): string {
  return hash('sha256', eid).slice(0, 12)
}

/** The row of an eUICC that has proved who it is, with the time of this visit; a new one at its first. */
export function euiccSeen(
  vault: Vault,
  euicc: NamedEuicc & { readonly profileVersion: ProfileVersion | undefined },
  known: EuiccRow | undefined,
  nowMs: number,
): EuiccRow {
  const { eid, hash, authority } = euicc
  const profile_version = euicc.profileVersion?.join('.') ?? null
  if (known !== undefined) return { ...known, last_seen_ms: nowMs, authority, profile_version }
  return {
    eid_hash: hash,
    eid_sealed: vault.seal(Buffer.from(eid), `esim_smdp_euicc/${hash}`),
    eid_last4: eid.slice(-4),
    failures: 0,
    failures_from_ms: nowMs,
    locked_until_ms: null,
    first_seen_ms: nowMs,
    last_seen_ms: nowMs,
    authority,
    profile_version,
  }
}

/** Whether it has to wait. A lock that is longer than any was set by a clock that was ahead, and holds no more. */
export function isLocked(row: EuiccRow, nowMs: number): boolean {
  const { locked_until_ms: until } = row
  return until !== null && until > nowMs && until <= nowMs + LONGEST_LOCK_MS
}

/** One more failure: two are free, from the third on it waits 2 s, 4 s, 8 s … up to an hour. */
export function withFailure(row: EuiccRow, nowMs: number): EuiccRow {
  const isNew = Math.abs(nowMs - row.failures_from_ms) > WINDOW_MS || row.failures === 0
  const failures = isNew ? 1 : row.failures + 1
  const lockMs =
    failures <= FREE_FAILURES
      ? 0
      : Math.min(LONGEST_LOCK_MS, FIRST_LOCK_MS * 2 ** (failures - FREE_FAILURES - 1))
  return {
    ...row,
    failures,
    failures_from_ms: isNew ? nowMs : row.failures_from_ms,
    locked_until_ms: lockMs === 0 ? null : nowMs + lockMs,
  }
}

/** A profile was delivered to it: whatever went wrong before was a mistake. */
export function withoutFailures(row: EuiccRow): EuiccRow {
  return { ...row, failures: 0, locked_until_ms: null }
}

const STRANGER = `not exists (select 1 from esim_smdp_held where esim_smdp_held.eid_hash = esim_smdp_euicc.eid_hash)`
const FORGET = `delete from esim_smdp_euicc where eid_hash in
  (select eid_hash from esim_smdp_euicc where last_seen_ms < :before and ${STRANGER} order by last_seen_ms limit :most)`
const COUNT = `select count(*) as n from esim_smdp_euicc where ${STRANGER}`
const SURPLUS = `delete from esim_smdp_euicc where eid_hash in
  (select eid_hash from esim_smdp_euicc where ${STRANGER} order by last_seen_ms limit :most)`

/** Forgets eUICCs that hold nothing; at most `most` at once. */
export async function pruneEuiccs(tx: Tx, nowMs: number, most: number): Promise<void> {
  await tx.run(FORGET, { before: nowMs - FORGET_MS, most })
  const count = Number((await tx.get<{ readonly n: number }>(COUNT))?.n ?? 0)
  if (count > MOST_STRANGERS) await tx.run(SURPLUS, { most: Math.min(most, count - MOST_STRANGERS) })
}

/** Notifications of one eUICC that are kept. Older ones of it can say nothing new: see `heldAfter`. */
const MOST_OF_EUICC = 500
const OLD = `delete from esim_smdp_notice where eid_hash = :eid and seq in
  (select seq from esim_smdp_notice where eid_hash = :eid order by seq desc limit 50 offset ${MOST_OF_EUICC})`

/** Keeps a notification; false when one with its number is there. */
export async function putNotice(tx: Tx, row: NoticeRow): Promise<boolean> {
  if (!(await NOTICES.insertNew(tx, row))) return false
  // Numbers are counted from the beginning, and each is there once: below this one there cannot be more.
  if (row.seq >= MOST_OF_EUICC) await tx.run(OLD, { eid: row.eid_hash })
  return true
}

/** A notification as it changes the inventory. */
export interface HeldChange {
  readonly event: NoticeEvent
  readonly seq: number
  /** An installation that failed. */
  readonly isFailure: boolean
  readonly nowMs: number
}

/** A profile goes out to an eUICC. */
export async function putDelivered(tx: Tx, code: CodeRow, eidHash: string, nowMs: number): Promise<void> {
  const row: HeldRow = {
    eid_hash: eidHash,
    token: code.token,
    hash: code.hash,
    state: 'delivered',
    seq: -1,
    delivered_at_ms: nowMs,
    installed_at_ms: null,
    enabled_at_ms: null,
    disabled_at_ms: null,
    deleted_at_ms: null,
  }
  if (await HELD.insertNew(tx, row)) return
  const known = await HELD.find(tx, { eid_hash: eidHash, token: code.token })
  await HELD.put(tx, { ...row, seq: known?.seq ?? -1 })
}

/** What the inventory says after a notification: each event keeps its time, the newest number says the state. */
export function heldAfter(row: HeldRow, change: HeldChange): HeldRow {
  const { event, seq, isFailure, nowMs } = change
  const timed: HeldRow = {
    ...row,
    ...(event === 'install' && !isFailure && { installed_at_ms: nowMs }),
    ...(event === 'enable' && { enabled_at_ms: nowMs }),
    ...(event === 'disable' && { disabled_at_ms: nowMs }),
    ...(event === 'delete' && { deleted_at_ms: nowMs }),
  }
  if (seq <= row.seq) return timed
  return { ...timed, seq, state: isFailure ? 'failed' : STATES[event] }
}

const STATES: Readonly<Record<NoticeEvent, HeldRow['state']>> = {
  install: 'installed',
  enable: 'enabled',
  disable: 'disabled',
  delete: 'deleted',
}

export async function heldBy(
  reader: Reader,
  eidHashes: readonly string[],
): Promise<ReadonlyMap<string, readonly HeldRow[]>> {
  const found = new Map<string, HeldRow[]>(eidHashes.map((hash) => [hash, []]))
  for (const eid of eidHashes) {
    const { rows } = await HELD.sound(reader, 'where eid_hash = :eid order by token limit 100', { eid })
    found.get(eid)?.push(...rows)
  }
  return found
}
