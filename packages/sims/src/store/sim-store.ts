import type { Reader, SqlParams, SqlValue } from '@steeple/contracts'
import { SIM_STATES, type SimState } from '../states/machine.ts'
import { SIMS, type SimRow } from './sim-row.ts'

/** What a list shows; every part narrows it. `q`: the hash begins with it. */
export interface SimFilter {
  readonly state?: string
  readonly profile?: string
  readonly label?: string
  readonly batch_id?: string
  readonly q?: string
}

/** Position in a list: newest first, then by hash downwards. */
export interface SimPosition {
  readonly issuedAtMs: number
  readonly hash: string
}

const EQUALS = ['state', 'profile', 'label', 'batch_id'] as const
/** Sorts behind every hash that begins with the same text. */
const BEHIND_HEX = 'g'

function conditions(filter: SimFilter): { readonly where: readonly string[]; readonly params: SqlParams } {
  const params: Record<string, SqlValue> = {}
  const where: string[] = []
  for (const name of EQUALS) {
    const value = filter[name]
    if (value === undefined) continue
    where.push(`${name} = :${name}`)
    params[name] = value
  }
  if (filter.q !== undefined) {
    where.push('hash >= :q and hash < :q_end')
    params.q = filter.q
    params.q_end = filter.q + BEHIND_HEX
  }
  return { where, params }
}

/** At most `limit` SIMs after `after`, newest first. Throws `store_corrupt`. */
export function listSims(
  reader: Reader,
  filter: SimFilter,
  limit: number,
  after: SimPosition | undefined,
): Promise<readonly SimRow[]> {
  const { where, params } = conditions(filter)
  const all = after === undefined ? where : [...where, '(issued_at_ms, hash) < (:after_ms, :after_hash)']
  const rest = `${whereText(all)}order by issued_at_ms desc, hash desc limit :limit`
  const position = after === undefined ? {} : { after_ms: after.issuedAtMs, after_hash: after.hash }
  return SIMS.select(reader, rest, { ...params, ...position, limit })
}

/** At most `limit` hashes of a filter, oldest hash first. */
export async function hashesOf(reader: Reader, filter: SimFilter, limit: number): Promise<readonly string[]> {
  const { where, params } = conditions(filter)
  const sql = `select hash from sims_sim ${whereText(where)}order by hash limit :limit`
  const rows = await reader.all<{ readonly hash: string }>(sql, { ...params, limit })
  return rows.map(({ hash }) => hash)
}

function whereText(parts: readonly string[]): string {
  return parts.length === 0 ? '' : `where ${parts.join(' and ')} `
}

/** At most `limit` SIMs of a batch, by hash. Throws `store_corrupt`. */
export function simsOfBatch(reader: Reader, batchId: string, limit: number): Promise<readonly SimRow[]> {
  const rest = 'where batch_id = :batch_id order by hash limit :limit'
  return SIMS.select(reader, rest, { batch_id: batchId, limit })
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

/** A SIM with its card, sealed. */
export type CardOfSim = Pick<SimRow, 'hash' | 'secrets_sealed'>

/** The SIMs that are not revoked and whose ICCID ends in one of these four digits. Not checked, but sealed. */
export function simsWithIccidEnds(reader: Reader, ends: readonly string[]): Promise<readonly CardOfSim[]> {
  const names = ends.map((_, i) => `:end${i}`).join(', ')
  const sql = `select hash, secrets_sealed from sims_sim where iccid_last4 in (${names}) and state <> 'revoked'`
  return reader.all<CardOfSim>(sql, Object.fromEntries(ends.map((end, i) => [`end${i}`, end])))
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

/** What of a SIM is compared with its subscriber in an HSS. */
export type ComparedSim = Pick<SimRow, (typeof COMPARED)[number]>
const COMPARED = [
  'hash',
  'state',
  'apns',
  'downlink_bps',
  'uplink_bps',
  'msisdn',
  'issued_at_ms',
  'generation',
  'imsi_sealed',
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
