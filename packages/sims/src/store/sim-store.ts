import type { Reader, SqlParams, SqlValue } from '@steeple/contracts'
import { SIM_STATES, type SimState } from '../states/change.ts'
import { listed } from './listed.ts'
import type { KnownSim, KnownSims, SimRow } from './sim-row.ts'

/** What a list shows; every part narrows it. `q`, `attached` and `msisdn` are for a search (find/search.ts). */
export interface SimFilter {
  readonly state?: string
  readonly profile?: string
  readonly label?: string
  readonly batch_id?: string
  readonly iccid_last4?: string
  readonly q?: string
  readonly attached?: boolean
  readonly msisdn?: string
}

/** Position in a list: newest first, then by hash downwards. */
export interface SimPosition {
  readonly issuedAtMs: number
  readonly hash: string
}

const EQUALS = ['state', 'profile', 'label', 'batch_id', 'iccid_last4'] as const
/** Sorts behind every hash that begins with the same text. */
const BEHIND_HEX = 'g'

function conditions(
  filter: SimFilter,
  after?: SimPosition,
): { readonly where: readonly string[]; readonly params: SqlParams } {
  const params: Record<string, SqlValue> = {}
  const where: string[] = []
  for (const name of EQUALS) {
    const value = filter[name]
    if (value === undefined) continue
    where.push(`${name} = :${name}`)
    params[name] = value
  }
  if (after !== undefined) {
    where.push('(issued_at_ms, hash) < (:after_ms, :after_hash)')
    params.after_ms = after.issuedAtMs
    params.after_hash = after.hash
  }
  return { where, params }
}

/** At most `limit` SIMs after `after`, newest first. Throws `store_corrupt`. */
export function listSims(
  known: KnownSims,
  reader: Reader,
  filter: SimFilter,
  limit: number,
  after: SimPosition | undefined,
): Promise<readonly KnownSim[]> {
  const { where, params } = conditions(filter, after)
  return known.select(reader, `${whereText(where)}${NEWEST_FIRST}`, { ...params, limit })
}

/** A SIM as a search looks at it. Not checked: the page that shows it is. */
export type FoundSim = Pick<SimRow, (typeof FOUND)[number]>
const FOUND = ['hash', 'issued_at_ms', 'label', 'msisdn', 'iccid_last4'] as const
const NEWEST_FIRST = 'order by issued_at_ms desc, hash desc limit :limit'

/** At most `limit` SIMs after `after`, newest first, by the columns of a filter alone. */
export function foundAfter(
  reader: Reader,
  filter: SimFilter,
  limit: number,
  after: SimPosition | undefined,
): Promise<readonly FoundSim[]> {
  const { where, params } = conditions(filter, after)
  const sql = `select ${FOUND.join(', ')} from sims_sim ${whereText(where)}${NEWEST_FIRST}`
  return reader.all<FoundSim>(sql, { ...params, limit })
}

/** Those of `hashes` that a filter's columns let through and that come after `after`, in no order. */
export function foundAmong(
  reader: Reader,
  filter: SimFilter,
  hashes: readonly string[],
  after: SimPosition | undefined,
): Promise<readonly FoundSim[]> {
  const { where, params } = conditions(filter, after)
  const list = listed('hash', hashes)
  const sql = `select ${FOUND.join(', ')} from sims_sim ${whereText([...where, list.where])}`
  return reader.all<FoundSim>(sql, { ...params, ...list.params })
}

/** Rows as they are shown by their hashes, in no order. Throws `store_corrupt`. */
export async function shownSims(
  known: KnownSims,
  reader: Reader,
  hashes: readonly string[],
): Promise<readonly KnownSim[]> {
  if (hashes.length === 0) return []
  const { where, params } = listed('hash', hashes)
  return await known.select(reader, `where ${where}`, params)
}

/** At most `limit` hashes that begin so. */
export function hashesByStart(reader: Reader, start: string, limit: number): Promise<readonly string[]> {
  const sql = 'select hash from sims_sim where hash >= :from and hash < :to limit :limit'
  return hashList(reader, sql, { from: start, to: start + BEHIND_HEX, limit })
}

async function hashList(reader: Reader, sql: string, params: SqlParams): Promise<readonly string[]> {
  return (await reader.all<{ readonly hash: string }>(sql, params)).map(({ hash }) => hash)
}

/** At most `limit` hashes of a filter's columns, oldest hash first. */
export async function hashesOf(reader: Reader, filter: SimFilter, limit: number): Promise<readonly string[]> {
  const { where, params } = conditions(filter)
  const sql = `select hash from sims_sim ${whereText(where)}order by hash limit :limit`
  return await hashList(reader, sql, { ...params, limit })
}

function whereText(parts: readonly string[]): string {
  return parts.length === 0 ? '' : `where ${parts.join(' and ')} `
}

const LAST_ATTACHED =
  'select hash from sims_sim where attached_at_ms is not null order by attached_at_ms desc limit 1'

/** The SIM that was first seen in the core last. */
export async function lastFirstAttached(reader: Reader): Promise<string | undefined> {
  return (await reader.get<{ readonly hash: string }>(LAST_ATTACHED))?.hash
}

/** Whether a SIM of that hash is stored. */
export async function isTaken(reader: Reader, hash: string): Promise<boolean> {
  return (await reader.get('select hash from sims_sim where hash = :hash', { hash })) !== undefined
}

/** How many SIMs are in each state; all states are there. */
export async function countByState(reader: Reader): Promise<ReadonlyMap<SimState, number>> {
  const sql = 'select state, count(*) as sims from sims_sim group by state'
  const rows = await reader.all<{ readonly state: SimState; readonly sims: number }>(sql)
  const found = new Map(rows.map(({ state, sims }) => [state, Number(sims)]))
  return new Map(SIM_STATES.map((state) => [state, found.get(state) ?? 0]))
}

const NOT_SYNCED = "select hash, state from sims_sim where hss_status in ('pending', 'failed')"
/** Ranges of the index, since a scan over all that is synced would cost more than all else that idles. */
const OF_ANOTHER = ['hss_driver is null', 'hss_driver < :driver', 'hss_driver > :driver'].map(
  (part) => `select hash, state from sims_sim where hss_status = 'synced' and ${part}`,
)

/** A SIM whose subscriber is not in the HSS as it should be. */
export interface UnsyncedSim {
  readonly hash: string
  readonly state: SimState
}

/** Every SIM that `driver` has yet to push. */
export async function unsyncedSims(reader: Reader, driver: string): Promise<readonly UnsyncedSim[]> {
  const waiting = await reader.all<UnsyncedSim>(NOT_SYNCED)
  const found = [waiting]
  for (const sql of OF_ANOTHER) found.push(await reader.all<UnsyncedSim>(sql, { driver }))
  return found.flat()
}

/** How many SIMs wait for their push, and how many failed. */
export async function countUnsynced(
  reader: Reader,
): Promise<{ readonly pending: number; readonly failed: number }> {
  const sql =
    "select hss_status, count(*) as sims from sims_sim where hss_status in ('pending', 'failed') group by hss_status"
  const rows = await reader.all<{ readonly hss_status: string; readonly sims: number }>(sql)
  const count = (status: string): number => Number(rows.find((row) => row.hss_status === status)?.sims ?? 0)
  return { pending: count('pending'), failed: count('failed') }
}

/** The SIMs whose phones may have other rates than they should. */
export function unreachedHashes(reader: Reader): Promise<readonly string[]> {
  return hashList(reader, 'select hash from sims_sim where reach is not null', {})
}

const WITH_QUOTA = `select hash, quota_bytes from sims_sim
  where quota_bytes is not null and hash > :after and state <> 'revoked' order by hash limit :limit`

/** At most `limit` SIMs behind `after` that have a quota and are not revoked. Not checked. */
export function simsWithQuota(
  reader: Reader,
  after: string,
  limit: number,
): Promise<readonly { readonly hash: string; readonly quota_bytes: number }[]> {
  return reader.all(WITH_QUOTA, { after, limit })
}

/** What of a SIM is compared with its subscriber in an HSS. */
export type ComparedSim = Pick<SimRow, (typeof COMPARED)[number]>
const COMPARED = [
  'hash',
  'state',
  'apns',
  'downlink_bps',
  'uplink_bps',
  'cap_bps',
  'msisdn',
  'issued_at_ms',
  'generation',
  'imsi_sealed',
  'secrets_sealed',
  'hss_status',
  'hss_driver',
  'hss_seq',
] as const
const COMPARED_BETWEEN = `select ${COMPARED.join(', ')} from sims_sim
  where hash >= :from and hash < :to order by hash limit :limit`

/**
 * At most `limit` SIMs with a hash from `from` up to but without `to`, by hash. Not checked: what follows from them is
 * written only to rows that pass their checksum.
 */
export function comparedBetween(
  reader: Reader,
  from: string,
  to: string,
  limit: number,
): Promise<readonly ComparedSim[]> {
  return reader.all<ComparedSim>(COMPARED_BETWEEN, { from, to, limit })
}

const DUE =
  'select hash from sims_sim where state = :state and expires_at_ms <= :now order by expires_at_ms limit :limit'

const UNDUE = `select hash from sims_sim where state = 'expired' and expires_at_ms > :now
  order by expires_at_ms limit :limit`

/** At most `limit` hashes of SIMs that have expired although their time has not come. */
export async function wronglyExpired(
  reader: Reader,
  nowMs: number,
  limit: number,
): Promise<readonly string[]> {
  const rows = await reader.all<{ readonly hash: string }>(UNDUE, { now: nowMs, limit })
  return rows.map(({ hash }) => hash)
}

/** At most `limit` hashes per state of SIMs that must expire. */
export async function expiredHashes(
  reader: Reader,
  nowMs: number,
  limit: number,
): Promise<readonly string[]> {
  const states: readonly SimState[] = ['issued', 'in-use', 'suspended']
  const found: string[] = []
  for (const state of states) {
    const rows = await reader.all<{ readonly hash: string }>(DUE, { state, now: nowMs, limit })
    found.push(...rows.map(({ hash }) => hash))
  }
  return found
}
