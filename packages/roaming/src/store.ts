import {
  defineTable,
  type ImsiHash,
  listed,
  type Reader,
  type SimStay,
  type SqlParams,
  type Table,
  type TableSpec,
  type TimeSpan,
  type Tx,
} from '@steeple/contracts'

/** Where a SIM works: at its home, on every box that is permitted, on those that are named, on those where its phone has come. */
export type Reach = 'home' | 'mesh' | 'boxes' | 'on_demand'

/** The reach that somebody has chosen for a SIM. */
export interface ReachRow {
  readonly hash: string
  readonly reach: Reach
  /** JSON list of node ids. */
  readonly boxes: string
}
/** Another box: whether it may have keys of SIMs of this one, and what it has told. Times are ms since the epoch. */
export interface BoxRow {
  readonly node_id: string
  readonly name: string
  /** Null: it may not. */
  readonly permitted_at_ms: number | null
  /** Its public key (X25519, base64url), and the id of that. */
  readonly key_id: string | null
  readonly key_x: string | null
  readonly heard_at_ms: number | null
  readonly problem: string | null
  /** The revision of the last of its stays that is kept here; null before the first. */
  readonly stays_after: number | null
}
/** A phone with that SIM came to that box, which has asked for it. `at_ms`: then, or when it was last seen there. */
export interface CallRow {
  readonly hash: string
  readonly node_id: string
  readonly at_ms: number
}
/** How a lease is to be. `erased`: ended, and nothing of the SIM is to be kept. */
export type LeaseState = 'open' | 'blocked' | 'ended' | 'erased'
/** How a visitor is to be. */
export type VisitorState = Exclude<LeaseState, 'erased'>
/** The lease of a SIM of this box at another one. Its row stays for good: index and counts are its own. */
export interface LeaseRow {
  readonly hash: string
  readonly node_id: string
  readonly ind: number
  /** SEQ to begin with. */
  readonly seq: number
  readonly revision: number
  /** The revision that the other box has taken; 0 before the first. */
  readonly told_revision: number
  readonly wanted: LeaseState
  /** Of the SIM as it was told. */
  readonly generation: number
  /** 1: the other box lacks the keys, or has others. */
  readonly needs_keys: number
  readonly granted_at_ms: number
  /** Until when the other box may go on by itself; null before the first. */
  readonly until_ms: number | null
  readonly renew_at_ms: number
  readonly problem: string | null
  /** The visit of which the other box told last. */
  readonly visit: string | null
  /** Octets of all visits there that were counted here. */
  readonly up_bytes: number
  readonly down_bytes: number
}
/** What of a visit at another box was counted here. `is_over` 1: the other box is to hear that all of it was, 2: it has. */
interface CountRow {
  readonly node_id: string
  readonly visit: string
  readonly hash: string
  readonly up_bytes: number
  readonly down_bytes: number
  readonly is_over: number
}
/** A SIM of another box that this one serves. */
export interface VisitorRow {
  readonly hash: string
  readonly home_id: string
  readonly home_name: string
  readonly revision: number
  readonly wanted: VisitorState
  readonly ind: number
  readonly seq: number
  /** IMSI, keys and service; AAD `roaming_visitor/<hash>`. */
  readonly sealed: Uint8Array
  readonly until_ms: number
  readonly since_ms: number
  /** When the HSS was first given it with this SEQ; null before. */
  readonly inserted_at_ms: number | null
  /** `<revision> <state>` that HSS and core have come to; null before the first. */
  readonly done: string | null
  readonly visit: string
  /** What the ledger had of it in the hour in which the visit began. */
  readonly base_up_bytes: number
  readonly base_down_bytes: number
  /** Octets of this visit after which it must hear from home; null: any. */
  readonly limit_bytes: number | null
  readonly is_over: number
}
/** A visit that has ended, kept until its home has counted all of it. */
export type EndedRow = Pick<
  VisitorRow,
  'hash' | 'home_id' | 'visit' | 'since_ms' | 'base_up_bytes' | 'base_down_bytes'
> & { readonly ended_at_ms: number }
/** The index of a SIM here, and the highest SEQ that this box has drawn with it. Kept after its keys are gone. */
interface MarkRow {
  readonly hash: string
  readonly ind: number
  readonly seq: number
}
/** A time in which a visitor's phone was on that box: kept there and at its home. */
export interface StayRow {
  readonly node_id: string
  readonly id: string
  readonly node_name: string
  readonly home_id: string
  readonly home_name: string
  readonly hash: string
  readonly began_at_ms: number
  readonly seen_at_ms: number
  readonly is_over: number
  /** Grows with each change, among all stays of a box. */
  readonly revision: number
}
/** A key of this box that others seal to. */
export interface KeyRow {
  readonly id: string
  readonly x: string
  /** JWK; AAD `roaming_key/<id>`. */
  readonly private_sealed: Uint8Array
}

export const REACHES: Table<ReachRow> = defineTable<ReachRow>(
  'roaming_reach',
  ['hash', 'reach', 'boxes'],
  ['hash'],
)
export const BOXES: Table<BoxRow> = defineTable<BoxRow>(
  'roaming_box',
  ['node_id', 'name', 'permitted_at_ms', 'key_id', 'key_x', 'heard_at_ms', 'problem', 'stays_after'],
  ['node_id'],
)
export const LEASES: Table<LeaseRow> = defineTable<LeaseRow>(
  'roaming_lease',
  [
    'hash',
    'node_id',
    'ind',
    'seq',
    'revision',
    'told_revision',
    'wanted',
    'generation',
    'needs_keys',
    'granted_at_ms',
    'until_ms',
    'renew_at_ms',
    'problem',
    'visit',
    'up_bytes',
    'down_bytes',
  ],
  ['hash', 'node_id'],
)
export const COUNTS: Table<CountRow> = defineTable<CountRow>(
  'roaming_count',
  ['node_id', 'visit', 'hash', 'up_bytes', 'down_bytes', 'is_over'],
  ['node_id', 'visit'],
)
export const CALLS: Table<CallRow> = defineTable<CallRow>(
  'roaming_call',
  ['hash', 'node_id', 'at_ms'],
  ['hash', 'node_id'],
)
export const VISITORS: Table<VisitorRow> = defineTable<VisitorRow>(
  'roaming_visitor',
  [
    'hash',
    'home_id',
    'home_name',
    'revision',
    'wanted',
    'ind',
    'seq',
    'sealed',
    'until_ms',
    'since_ms',
    'inserted_at_ms',
    'done',
    'visit',
    'base_up_bytes',
    'base_down_bytes',
    'limit_bytes',
    'is_over',
  ],
  ['hash'],
)
export const ENDED: Table<EndedRow> = defineTable<EndedRow>(
  'roaming_ended',
  ['hash', 'home_id', 'visit', 'since_ms', 'base_up_bytes', 'base_down_bytes', 'ended_at_ms'],
  ['hash', 'home_id'],
)
export const MARKS: Table<MarkRow> = defineTable<MarkRow>('roaming_mark', ['hash', 'ind', 'seq'], ['hash'])
export const STAYS: Table<StayRow> = defineTable<StayRow>(
  'roaming_stay',
  [
    'node_id',
    'id',
    'node_name',
    'home_id',
    'home_name',
    'hash',
    'began_at_ms',
    'seen_at_ms',
    'is_over',
    'revision',
  ],
  ['node_id', 'id'],
)
export const KEYS: Table<KeyRow> = defineTable<KeyRow>('roaming_key', ['id', 'x', 'private_sealed'], ['id'])
export const TABLES: readonly TableSpec[] = [
  REACHES,
  BOXES,
  LEASES,
  COUNTS,
  CALLS,
  VISITORS,
  ENDED,
  MARKS,
  STAYS,
  KEYS,
]

/** Every box that this node knows of. */
export function allBoxes(reader: Reader): Promise<readonly BoxRow[]> {
  return BOXES.select(reader, 'order by node_id')
}

/** The key that is sealed to for a box; undefined before it has told one. */
export function keyOf(box: BoxRow | undefined): { readonly id: string; readonly x: string } | undefined {
  const { key_id: id = null, key_x: x = null } = box ?? {}
  return id === null || x === null ? undefined : { id, x }
}

/** Changes what is known of a box; a row is made for one that is new. */
export async function changeBox(
  tx: Tx,
  box: Pick<BoxRow, 'node_id' | 'name'>,
  more: Partial<BoxRow>,
): Promise<BoxRow> {
  const none = {
    ...{ permitted_at_ms: null, key_id: null, key_x: null },
    ...{ heard_at_ms: null, problem: null, stays_after: null },
  }
  const now = await BOXES.find(tx, { node_id: box.node_id })
  const after = { ...none, ...now, ...box, ...more }
  await BOXES.put(tx, after)
  return after
}

/** The leases of a SIM. */
export function leasesOf(reader: Reader, hash: string): Promise<readonly LeaseRow[]> {
  return LEASES.select(reader, 'where hash = :hash order by node_id', { hash })
}

/** The boxes that have asked for a SIM. */
export async function callersOf(reader: Reader, hash: string): Promise<readonly string[]> {
  return (await CALLS.select(reader, 'where hash = :hash order by node_id', { hash })).map(
    ({ node_id }) => node_id,
  )
}

/** Calls of SIMs that were last seen there before that time. */
export function idleCalls(reader: Reader, before: number, limit: number): Promise<readonly CallRow[]> {
  return CALLS.select(reader, 'where at_ms < :before order by at_ms limit :limit', { before, limit })
}

/** What is kept of where SIMs work, by hash. */
export interface Known {
  readonly reach: ReadonlyMap<string, ReachRow>
  readonly leases: ReadonlyMap<string, readonly LeaseRow[]>
  readonly called: ReadonlyMap<string, readonly string[]>
}

/** What is kept of these SIMs, at most 500. */
export async function knownOf(reader: Reader, hashes: readonly string[]): Promise<Known> {
  if (hashes.length === 0) return { reach: new Map(), leases: new Map(), called: new Map() }
  const { where, params } = listed('hash', hashes)
  const rest = `where ${where}`
  const reaches = await REACHES.select(reader, rest, params)
  const leases = Map.groupBy(
    await LEASES.select(reader, `${rest} order by node_id`, params),
    ({ hash }) => hash,
  )
  const calls = Map.groupBy(
    await CALLS.select(reader, `${rest} order by node_id`, params),
    ({ hash }) => hash,
  )
  return {
    reach: new Map(reaches.map((row) => [row.hash, row])),
    leases,
    called: new Map([...calls].map(([hash, rows]) => [hash, rows.map(({ node_id }) => node_id)])),
  }
}

/** `renew_at_ms` of what a box is to hear at once, whatever the clock is set to before it does. */
export const AT_ONCE_MS = 0
/** `renew_at_ms` of what a box has heard for the last time. */
export const NEVER_MS: number = Number.MAX_SAFE_INTEGER

const DUE =
  'where node_id = :node and (renew_at_ms <= :now or (renew_at_ms > :longest and renew_at_ms < :never)) order by renew_at_ms, hash limit :limit'

/**
 * Leases that their box is to hear of, those that wait longest first. Nothing waits beyond `longest`: what does was dated by a clock
 * that has been set back since.
 */
export function dueLeases(
  reader: Reader,
  params: {
    readonly node: string
    readonly now: number
    readonly longest: number
    readonly limit: number
  },
): Promise<readonly LeaseRow[]> {
  return LEASES.select(reader, DUE, { ...params, never: NEVER_MS })
}

/** Hashes of SIMs that have a lease or a chosen reach. */
export async function knownHashes(reader: Reader): Promise<readonly string[]> {
  const text =
    'select hash from roaming_reach union select hash from roaming_lease union select hash from roaming_call order by hash'
  return (await reader.all<{ readonly hash: string }>(text)).map(({ hash }) => hash)
}

/** What was counted of the visits of a SIM at a box. */
export function countsOf(reader: Reader, hash: string, node: string): Promise<readonly CountRow[]> {
  return COUNTS.select(reader, 'where node_id = :node and hash = :hash', { node, hash })
}

/** Visits at a box that were counted to their end, of which it is to hear that. */
export async function countedVisits(reader: Reader, node: string, limit: number): Promise<readonly string[]> {
  const text = 'where node_id = :node and is_over = 1 order by visit limit :limit'
  return (await COUNTS.select(reader, text, { node, limit })).map(({ visit }) => visit)
}

/** Boxes with leases that are not over, or with visits of which not all was told. */
export async function boxesWithLeases(reader: Reader): Promise<readonly string[]> {
  const text =
    "select node_id from roaming_lease where wanted in ('open', 'blocked') or told_revision < revision " +
    'union select node_id from roaming_count where is_over < 2'
  return (await reader.all<{ readonly node_id: string }>(text)).map(({ node_id }) => node_id)
}

/** How many leases are in each state. */
export async function countLeases(reader: Reader): Promise<ReadonlyMap<string, number>> {
  return await counted(reader, 'select wanted as name, count(*) as rows from roaming_lease group by wanted')
}
/** How many visitors are in each state. */
export async function countVisitors(reader: Reader): Promise<ReadonlyMap<string, number>> {
  return await counted(reader, 'select wanted as name, count(*) as rows from roaming_visitor group by wanted')
}

async function counted(reader: Reader, text: string): Promise<ReadonlyMap<string, number>> {
  const rows = await reader.all<{ readonly name: string; readonly rows: number | string }>(text)
  return new Map(rows.map(({ name, rows: count }) => [name, Number(count)]))
}

/** Visitors behind `after`, by hash; those of one home when it is named. */
export function visitorsAfter(
  reader: Reader,
  params: { readonly after: string; readonly limit: number; readonly home?: string },
): Promise<readonly VisitorRow[]> {
  const of = params.home === undefined ? '' : 'home_id = :home and '
  return VISITORS.select(reader, `where ${of}hash > :after order by hash limit :limit`, params as SqlParams)
}

/** Visitors that may not be served any longer by this time, and are. */
export function lapsedVisitors(reader: Reader, now: number, limit: number): Promise<readonly VisitorRow[]> {
  const text = "where until_ms <= :now and wanted <> 'ended' order by until_ms limit :limit"
  return VISITORS.select(reader, text, { now, limit })
}

/** Visitors with a share of a quota, and those that were held to one. */
export function limitedVisitors(reader: Reader): Promise<readonly VisitorRow[]> {
  return VISITORS.select(
    reader,
    "where (limit_bytes is not null or is_over = 1) and wanted = 'open' order by hash",
  )
}

/** Homes of visitors. */
export async function homesOfVisitors(reader: Reader): Promise<readonly string[]> {
  const rows = await reader.all<{ readonly home_id: string }>(
    "select distinct home_id from roaming_visitor where wanted <> 'ended'",
  )
  return rows.map(({ home_id }) => home_id)
}

/** Of these phones those that are visitors which the HSS may serve. */
export async function servedVisitors(
  reader: Reader,
  hashes: ReadonlySet<string>,
): Promise<readonly Pick<VisitorRow, 'hash' | 'home_id' | 'home_name'>[]> {
  type Served = Pick<VisitorRow, 'hash' | 'home_id' | 'home_name'>
  const text = "select hash, home_id, home_name from roaming_visitor where wanted <> 'ended'"
  return (await reader.all<Served>(text)).filter(({ hash }) => hashes.has(hash))
}

/** Stays at a box that have not ended. */
export function openStays(reader: Reader, node: string): Promise<readonly StayRow[]> {
  return STAYS.select(reader, 'where is_over = 0 and node_id = :node', { node })
}

/** The highest revision of the stays at a box; 0 without one. */
export async function lastStay(reader: Reader, node: string): Promise<number> {
  const text = 'select coalesce(max(revision), 0) as last from roaming_stay where node_id = :node'
  return Number((await reader.get<{ readonly last: number | string }>(text, { node }))?.last ?? 0)
}

/** Stays at a box of SIMs of a home, behind a revision, by revision. */
export function staysAfter(
  reader: Reader,
  params: {
    readonly node: string
    readonly home: string
    readonly after: number
    readonly limit: number
  },
): Promise<readonly StayRow[]> {
  const text =
    'where node_id = :node and home_id = :home and revision > :after order by revision limit :limit'
  return STAYS.select(reader, text, params as SqlParams)
}

const STAYS_BETWEEN = `where began_at_ms < :to_ms and (is_over = 0 or seen_at_ms >= :from_ms)
  and (began_at_ms > :at_ms or (began_at_ms = :at_ms and (node_id > :node or (node_id = :node and id > :id))))
  order by began_at_ms, node_id, id limit :limit`

/** Stays that reach into a span, behind that one, the oldest first. Throws `store_corrupt`. */
export async function staysBetween(
  reader: Reader,
  { fromMs, toMs }: TimeSpan,
  after: SimStay | undefined,
  limit: number,
): Promise<readonly SimStay[]> {
  const behind = { at_ms: after?.beganAtMs ?? -1, node: after?.servedBy.nodeId ?? '', id: after?.id ?? '' }
  const params = { from_ms: fromMs, to_ms: toMs, limit, ...behind }
  return (await STAYS.select(reader, STAYS_BETWEEN, params)).map((row) => ({
    id: row.id,
    // A hash of the store is one.
    imsi: row.hash as ImsiHash,
    servedBy: { nodeId: row.node_id, name: row.node_name },
    home: { nodeId: row.home_id, name: row.home_name },
    beganAtMs: row.began_at_ms,
    seenAtMs: row.seen_at_ms,
    isOver: row.is_over === 1,
  }))
}

/** Stays in which no phone was seen since that time: they end with retention. */
export function oldStays(reader: Reader, before: number, limit: number): Promise<readonly StayRow[]> {
  return STAYS.select(reader, 'where is_over in (0, 1) and seen_at_ms < :before limit :limit', {
    before,
    limit,
  })
}

/** Raises the mark of a SIM; with one index it never sinks. */
export async function raiseMark(tx: Tx, mark: MarkRow): Promise<void> {
  const now = await MARKS.find(tx, { hash: mark.hash })
  if (now === undefined || now.ind !== mark.ind || now.seq < mark.seq) await MARKS.put(tx, mark)
}
