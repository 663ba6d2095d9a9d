import {
  allListed,
  chunksOf,
  defineTable,
  type ImsiHash,
  isServiceError,
  listed,
  msFromTimestamp,
  type Reader,
  type SqlParams,
  type SqlValue,
  type SubscriberState,
  type SuspensionReason,
  simNotFound,
  storeCorrupt,
  type Table,
} from '@steeple/contracts'

/** Why a SIM is suspended. */
export type SuspendReason = 'operator' | SuspensionReason
/** Every state, in the order of the contract. */
export const SIM_STATES: readonly SubscriberState[] = ['issued', 'in-use', 'suspended', 'expired', 'revoked']

/** The part of a SIM that its state consists of. */
export interface SimLifecycle {
  readonly state: SubscriberState
  /** The state that a suspension or the expiry interrupted; null while there is none. */
  readonly previous_state: SubscriberState | null
  /** Of a SIM that is suspended, or was when it expired. */
  readonly suspend_reason: SuspendReason | null
}

/** What is known of a SIM in the HSS. `pending`: not pushed yet or not again. */
type HssStatus = 'pending' | 'synced' | 'failed'

/** A SIM as stored. Times are ms since the epoch. Neither its IMSI nor its keys are in it unsealed. */
export interface SimRow extends SimLifecycle {
  /** The truncated SHA-256 of its IMSI. */
  readonly hash: ImsiHash
  /** `999-99` */
  readonly plmn: string
  readonly profile: string
  /** JSON list. */
  readonly apns: string
  readonly downlink_bps: number
  readonly uplink_bps: number
  readonly quota_bytes: number | null
  readonly usage_bytes: number
  readonly msisdn: string | null
  readonly label: string | null
  readonly batch_id: string | null
  readonly iccid_last4: string | null
  readonly issued_at_ms: number
  readonly expires_at_ms: number
  /** When it was first seen in the core. */
  readonly attached_at_ms: number | null
  /** When it took the place of another SIM. */
  readonly swapped_at_ms: number | null
  /** The SIM whose place it took. */
  readonly replaces: string | null
  /** Grows with each change that the HSS must hear of. */
  readonly generation: number
  /** Digits of the IMSI, sealed; AAD `sims_sim/<hash>`. */
  readonly imsi_sealed: Uint8Array
  /** Ki, OPc and card codes (see secrets/card.ts), sealed; AAD `sims_sim/<hash>`. */
  readonly secrets_sealed: Uint8Array
  readonly hss_status: HssStatus
  /** The driver that was last successful. */
  readonly hss_driver: string | null
  readonly hss_error: string | null
  readonly hss_synced_at_ms: number | null
  /** SEQ with which the HSS inserts it: 1, and later than every SEQ used when it has to be inserted again. */
  readonly hss_seq: number
  /** The ICCID without its last four digits under a keyed hash (see secrets/iccid-index.ts); null without one, and before it was indexed. */
  readonly iccid_mac: Uint8Array | null
  /** A lower rate than its AMBR, in both directions; null while its AMBR holds. */
  readonly cap_bps: number | null
  /**
   * Its rates have changed and its phone may have those of before: whether its session is ended or waited for. Not the reach of
   * roaming: releases have shipped the column by this name, and go back to it.
   */
  readonly reach: 'kick' | 'wait' | null
  /**
   * What an import did not say of it (`AsIs`, with blanks between): as the HSS has it, which is looked up before the first push
   * and written into the row then; null when nothing is open.
   */
  readonly as_is: string | null
  /**
   * Of one that was taken over from an HSS: what that held of it then (`Subscriber.found`), sealed; AAD `sims_sim/<hash>`. Null for
   * all others.
   */
  readonly found_sealed: Uint8Array | null
}

/** What stays of a row whose holder is forgotten, until the SIM itself is erased: states, dates, rates, and what the HSS is told. */
type Kept =
  | keyof SimLifecycle
  | ('hash' | 'plmn' | 'profile' | 'apns' | 'downlink_bps' | 'uplink_bps' | 'issued_at_ms' | 'expires_at_ms')
  | ('generation' | 'imsi_sealed' | 'secrets_sealed' | 'cap_bps' | 'reach' | 'as_is')
  | ('hss_status' | 'hss_driver' | 'hss_error' | 'hss_synced_at_ms' | 'hss_seq')

/** What a row of a SIM has of its holder, beside IMSI and keys. A new column of `SimRow` is in here or in `Kept`. */
export const EMPTY: Pick<SimRow, Exclude<keyof SimRow, Kept>> = {
  label: null,
  msisdn: null,
  batch_id: null,
  iccid_last4: null,
  iccid_mac: null,
  quota_bytes: null,
  usage_bytes: 0,
  attached_at_ms: null,
  swapped_at_ms: null,
  replaces: null,
  found_sealed: null,
}

type Fresh = keyof typeof EMPTY | keyof SimLifecycle | 'cap_bps' | 'reach' | 'as_is' | 'generation'
/** What a row of a new SIM begins with. */
export const FRESH: Pick<SimRow, Fresh> = {
  ...EMPTY,
  state: 'issued',
  previous_state: null,
  suspend_reason: null,
  cap_bps: null,
  reach: null,
  as_is: null,
  generation: 1,
}

export const SIMS: Table<SimRow> = defineTable(
  'sims_sim',
  [
    'hash',
    'plmn',
    'profile',
    'state',
    'previous_state',
    'suspend_reason',
    'apns',
    'downlink_bps',
    'uplink_bps',
    'quota_bytes',
    'usage_bytes',
    'msisdn',
    'label',
    'batch_id',
    'iccid_last4',
    'issued_at_ms',
    'expires_at_ms',
    'attached_at_ms',
    'swapped_at_ms',
    'replaces',
    'generation',
    'imsi_sealed',
    'secrets_sealed',
    'hss_status',
    'hss_driver',
    'hss_error',
    'hss_synced_at_ms',
    'hss_seq',
    'iccid_mac',
    'cap_bps',
    'reach',
    'as_is',
    'found_sealed',
  ],
  ['hash'],
)

export function apnsOf(row: Pick<SimRow, 'apns'>): readonly string[] {
  // Written from a list of texts alone.
  return JSON.parse(row.apns) as readonly string[]
}

/** Why a SIM is suspended; null for one that is not. */
export function suspendReasonOf({
  state,
  suspend_reason: reason,
}: Pick<SimRow, 'state' | 'suspend_reason'>): SuspendReason | null {
  return state === 'suspended' ? reason : null
}

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
  readonly expires_after?: string
  readonly expires_before?: string
}

/** Position in a list: newest first, then by hash downwards. */
export interface SimPosition {
  readonly issuedAtMs: number
  readonly hash: string
}

const EQUALS = ['state', 'profile', 'label', 'batch_id', 'iccid_last4'] as const
/** Sorts behind every hash that begins with the same text. */
const BEHIND_HEX = 'g'

/** The conditions of a filter's columns, and of what comes after `after`, newest first. */
export function conditions(
  filter: SimFilter,
  after?: SimPosition,
): { readonly where: string[]; readonly params: Record<string, SqlValue> } {
  const params: Record<string, SqlValue> = {}
  const where: string[] = []
  for (const name of EQUALS) {
    const value = filter[name]
    if (value === undefined) continue
    where.push(`${name} = :${name}`)
    params[name] = value
  }
  // Both passed the filter's own check.
  const [from, to] = [filter.expires_after, filter.expires_before].map((text) => msFromTimestamp(text ?? ''))
  if (from !== undefined) where.push('expires_at_ms >= :from_ms')
  if (to !== undefined) where.push('expires_at_ms < :to_ms')
  Object.assign(params, from === undefined ? {} : { from_ms: from }, to === undefined ? {} : { to_ms: to })
  if (after !== undefined) {
    where.push('(issued_at_ms, hash) < (:after_ms, :after_hash)')
    params.after_ms = after.issuedAtMs
    params.after_hash = after.hash
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
  const { where, params } = conditions(filter, after)
  return SIMS.select(reader, `${whereText(where)}${NEWEST_FIRST}`, { ...params, limit })
}

/** How many SIMs a filter's columns let through. */
export async function countSims(reader: Reader, filter: SimFilter): Promise<number> {
  const { where, params } = conditions(filter)
  const sql = `select count(*) as sims from sims_sim ${whereText(where)}`
  return Number((await reader.get<{ readonly sims: number }>(sql, params))?.sims ?? 0)
}

/** A SIM as a search looks at it. Not checked: the page that shows it is. */
export type FoundSim = Pick<SimRow, (typeof FOUND)[number]>
const FOUND = ['hash', 'issued_at_ms', 'label', 'msisdn', 'iccid_last4'] as const
/** Needs `limit`. */
export const NEWEST_FIRST = 'order by issued_at_ms desc, hash desc limit :limit'

/** SIMs after `after` by the columns of a filter: at most `limit`, newest first, or those of `hashes`, in no order. */
export function findSims(
  reader: Reader,
  filter: SimFilter,
  among: { readonly limit: number } | { readonly hashes: readonly string[] },
  after: SimPosition | undefined,
): Promise<readonly FoundSim[]> {
  const { where, params } = conditions(filter, after)
  const columns = `select ${FOUND.join(', ')} from sims_sim`
  if ('limit' in among)
    return reader.all<FoundSim>(`${columns} ${whereText(where)}${NEWEST_FIRST}`, { ...params, ...among })
  const list = listed('hash', among.hashes)
  return reader.all<FoundSim>(`${columns} ${whereText([...where, list.where])}`, {
    ...params,
    ...list.params,
  })
}

/** At most `limit` hashes that begin so. */
export function hashesByStart(reader: Reader, start: string, limit: number): Promise<readonly ImsiHash[]> {
  const sql = 'select hash from sims_sim where hash >= :from and hash < :to limit :limit'
  return hashList(reader, sql, { from: start, to: start + BEHIND_HEX, limit })
}

/** The hashes that a statement gives. */
export async function hashList(reader: Reader, sql: string, params: SqlParams): Promise<readonly ImsiHash[]> {
  return (await reader.all<Pick<SimRow, 'hash'>>(sql, params)).map(({ hash }) => hash)
}

/** At most `limit` hashes of a filter's columns behind the hash `after`, by hash. */
export async function hashesOf(
  reader: Reader,
  filter: SimFilter,
  limit: number,
  after: string,
): Promise<readonly ImsiHash[]> {
  const { where, params } = conditions(filter)
  const sql = `select hash from sims_sim ${whereText([...where, 'hash > :after'])}order by hash limit :limit`
  return await hashList(reader, sql, { ...params, after, limit })
}

/** How a SIM stands. Not checked: what follows from it is shown, and never written. */
export type SimStanding = Pick<SimRow, (typeof STANDING)[number]>
const STANDING = ['hash', 'state', 'previous_state', 'suspend_reason', 'label', 'expires_at_ms'] as const

/** How some SIMs stand, in no order. */
export async function standingsOf(
  reader: Reader,
  hashes: readonly string[],
): Promise<readonly SimStanding[]> {
  const sql = `select ${STANDING.join(', ')} from sims_sim where `
  const rows = await allListed<SimStanding>(reader, 'hash', hashes, (where) => sql + where)
  return rows.map((row) => ({ ...row, expires_at_ms: Number(row.expires_at_ms) }))
}

export function whereText(parts: readonly string[]): string {
  return parts.length === 0 ? '' : `where ${parts.join(' and ')} `
}

const LAST_ATTACHED =
  'select hash from sims_sim where attached_at_ms is not null order by attached_at_ms desc limit 1'

/** The SIM that was first seen in the core last. */
export async function lastFirstAttached(reader: Reader): Promise<ImsiHash | undefined> {
  return (await hashList(reader, LAST_ATTACHED, {}))[0]
}

/** Those of these hashes that are of stored SIMs. */
export async function takenAmong(reader: Reader, hashes: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await allListed<Pick<SimRow, 'hash'>>(
    reader,
    'hash',
    hashes,
    (where) => `select hash from sims_sim where ${where}`,
  )
  return new Set(rows.map(({ hash }) => hash))
}

/** How many SIMs are in each state; all states are there. */
export async function countByState(reader: Reader): Promise<ReadonlyMap<SubscriberState, number>> {
  const sql = 'select state, count(*) as sims from sims_sim group by state'
  const rows = await reader.all<{ readonly state: SubscriberState; readonly sims: number }>(sql)
  const found = new Map(rows.map(({ state, sims }) => [state, Number(sims)]))
  return new Map(SIM_STATES.map((state) => [state, found.get(state) ?? 0]))
}

const NOT_SYNCED = "select hash, state from sims_sim where hss_status in ('pending', 'failed')"
/** Ranges of the index, since a scan over all that is synced would cost more than all else that idles. */
const OF_ANOTHER = ['hss_driver is null', 'hss_driver < :driver', 'hss_driver > :driver'].map(
  (part) => `select hash, state from sims_sim where hss_status = 'synced' and ${part}`,
)

/** A SIM whose subscriber is not in the HSS as it should be. */
type UnsyncedSim = Pick<SimRow, 'hash' | 'state'>

/** Every SIM that `driver` has yet to push. Without an HSS those stay as they are that one holds: it is still theirs. */
export async function unsyncedSims(reader: Reader, driver: string): Promise<readonly UnsyncedSim[]> {
  const waiting = await reader.all<UnsyncedSim>(NOT_SYNCED)
  if (driver === 'none') return waiting
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
export function unreachedHashes(reader: Reader): Promise<readonly ImsiHash[]> {
  return hashList(reader, 'select hash from sims_sim where reach is not null', {})
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
  'found_sealed',
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
export function wronglyExpired(reader: Reader, nowMs: number, limit: number): Promise<readonly ImsiHash[]> {
  return hashList(reader, UNDUE, { now: nowMs, limit })
}

/** At most `limit` hashes per state of SIMs that must expire. */
export async function expiredHashes(
  reader: Reader,
  nowMs: number,
  limit: number,
): Promise<readonly ImsiHash[]> {
  const found: ImsiHash[] = []
  for (const state of ['issued', 'in-use', 'suspended'])
    found.push(...(await hashList(reader, DUE, { state, now: nowMs, limit })))
  return found
}

/** What `read` gives; undefined for a row that fails its checksum, or does not open: it waits until somebody has mended it. */
export async function ifSound<T>(read: () => T | Promise<T>): Promise<T | undefined> {
  try {
    return await read()
  } catch (error) {
    if (isServiceError(error) && error.code === storeCorrupt.code) return undefined
    throw error
  }
}

/** One SIM. Throws `sim_not_found`, `store_corrupt`. */
export async function simOf(reader: Reader, hash: string): Promise<SimRow> {
  const row = await SIMS.find(reader, { hash })
  if (row === undefined) throw simNotFound(hash)
  return row
}

/** Rows of one statement. */
const ROWS_AT_ONCE = 500

/** The rows of those hashes that are stored, each once, in the order of the hashes. Throws `store_corrupt`. */
export async function simsOf(reader: Reader, hashes: readonly string[]): Promise<readonly SimRow[]> {
  const found = new Map<string, SimRow>()
  for (const some of chunksOf(hashes, ROWS_AT_ONCE)) {
    const { where, params } = listed('hash', some)
    for (const row of await SIMS.select(reader, `where ${where}`, params)) found.set(row.hash, row)
  }
  return [...new Set(hashes)].flatMap((hash) => found.get(hash) ?? [])
}

/** At most `limit` SIMs of a batch, by hash. Throws `store_corrupt`. */
export function simsOfBatch(reader: Reader, batchId: string, limit: number): Promise<readonly SimRow[]> {
  const rest = 'where batch_id = :batch_id order by hash limit :limit'
  return SIMS.select(reader, rest, { batch_id: batchId, limit })
}
