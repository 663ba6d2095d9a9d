import {
  defineTable,
  type LifecycleState,
  listed,
  type Migration,
  type Reader,
  type Table,
  type TableSpec,
  type Tx,
} from '@steeple/contracts'

/** A node as stored. Times are ms since the epoch. */
export interface NodeRow {
  readonly node_id: string
  readonly name: string
  readonly state: LifecycleState
  readonly state_since_ms: number
  readonly created_at_ms: number
  readonly enrolled_at_ms: number | null
  readonly certificate_expires_at_ms: number | null
  readonly left_at_ms: number | null
}

/** The newest heartbeat of a node. */
export interface HeartbeatRow {
  readonly node_id: string
  readonly seq: number
  /** When the node says that it sent it, and when it came in. */
  readonly at_ms: number
  readonly received_at_ms: number
  /** Since when heartbeats have come without a gap. */
  readonly fresh_since_ms: number
  /** What the node was told at that time. */
  readonly interval_ms: number
  /** JSON list of `AgentComponent`. */
  readonly components: string
  readonly counters: string
  readonly versions: string
  /** JSON of `ReportedNode`; null from an agent that tells nothing of its node. */
  readonly node: string | null
}

/** A node that is degraded now. */
interface OverlayRow {
  readonly node_id: string
  readonly reason: string
  readonly since_ms: number
}

/** A state that a node was forced into: what it lacks for it does not move it back. */
interface ForcedRow {
  readonly node_id: string
  readonly state: LifecycleState
  readonly since_ms: number
}

export const NODES: Table<NodeRow> = defineTable<NodeRow>(
  'nodes_node',
  [
    'node_id',
    'name',
    'state',
    'state_since_ms',
    'created_at_ms',
    'enrolled_at_ms',
    'certificate_expires_at_ms',
    'left_at_ms',
  ],
  ['node_id'],
)
export const HEARTBEATS: Table<HeartbeatRow> = defineTable<HeartbeatRow>(
  'nodes_heartbeat',
  [
    'node_id',
    'seq',
    'at_ms',
    'received_at_ms',
    'fresh_since_ms',
    'interval_ms',
    'components',
    'counters',
    'versions',
    'node',
  ],
  ['node_id'],
)
export const OVERLAYS: Table<OverlayRow> = defineTable<OverlayRow>(
  'nodes_overlay',
  ['node_id', 'reason', 'since_ms'],
  ['node_id'],
)
const FORCED: Table<ForcedRow> = defineTable<ForcedRow>(
  'nodes_forced',
  ['node_id', 'state', 'since_ms'],
  ['node_id'],
)

/** The schema of node records, heartbeats and degraded overlays. */
export const MIGRATIONS: readonly Migration[] = [
  {
    id: '0001_node',
    up: [
      `create table nodes_node (
        node_id text primary key,
        name text not null,
        state text not null,
        state_since_ms bigint not null,
        created_at_ms bigint not null,
        enrolled_at_ms bigint,
        certificate_expires_at_ms bigint,
        left_at_ms bigint,
        row_sum bigint not null
      )`,
      'create index nodes_node_created on nodes_node (created_at_ms, node_id)',
      `create table nodes_heartbeat (
        node_id text primary key,
        seq bigint not null,
        at_ms bigint not null,
        received_at_ms bigint not null,
        fresh_since_ms bigint not null,
        interval_ms bigint not null,
        components text not null,
        counters text not null,
        versions text not null,
        row_sum bigint not null
      )`,
      'create index nodes_heartbeat_received on nodes_heartbeat (received_at_ms, node_id)',
      `create table nodes_overlay (
        node_id text primary key,
        reason text not null,
        since_ms bigint not null,
        row_sum bigint not null
      )`,
    ],
  },
  {
    id: '0002_forced',
    up: [
      `create table nodes_forced (
        node_id text primary key,
        state text not null,
        since_ms bigint not null,
        row_sum bigint not null
      )`,
    ],
  },
  {
    id: '0003_heartbeat_node',
    up: ['alter table nodes_heartbeat add column node text'],
  },
]

/** Contract section 4: so many intervals without a heartbeat make a node degraded. */
export const STALE_INTERVALS = 3

/** The tables of this package, for the integrity scan. */
export const TABLES: readonly TableSpec[] = [NODES, HEARTBEATS, OVERLAYS, FORCED]

const OLDEST_FIRST = 'order by created_at_ms, node_id limit :limit'
const AFTER = 'where (created_at_ms, node_id) > (:created_at_ms, :after_id)'

/** Writes a node's new lifecycle state, and whether it was forced into it. */
export async function moveNode(
  tx: Tx,
  row: NodeRow,
  state: LifecycleState,
  atMs: number,
  isForced = false,
): Promise<void> {
  await NODES.put(tx, { ...row, state, state_since_ms: atMs })
  if (isForced) await FORCED.put(tx, { node_id: row.node_id, state, since_ms: atMs })
  else await FORCED.remove(tx, { node_id: row.node_id })
}

/** Whether the node was forced into the state that it is in. */
export async function isForcedNode(reader: Reader, row: NodeRow): Promise<boolean> {
  return (await FORCED.find(reader, { node_id: row.node_id }))?.state === row.state
}

/** At most `limit` nodes, oldest first; behind the one that was made at that time and has that id. */
export function listNodes(
  reader: Reader,
  limit: number,
  after?: readonly (string | number)[],
): Promise<readonly NodeRow[]> {
  if (after === undefined) return NODES.select(reader, OLDEST_FIRST, { limit })
  const [created_at_ms, after_id] = [Number(after[0]), String(after[1])]
  return NODES.select(reader, `${AFTER} ${OLDEST_FIRST}`, { limit, created_at_ms, after_id })
}

/** What each node is called, by its id. */
export async function nodeNames(reader: Reader): Promise<ReadonlyMap<string, string>> {
  const rows = await reader.all<Pick<NodeRow, 'node_id' | 'name'>>('select node_id, name from nodes_node')
  return new Map(rows.map(({ node_id, name }) => [node_id, name]))
}

const SILENT_FIRST = 'order by received_at_ms, node_id limit :limit'
/** More are read with all others: a statement is kept for each length of a list. */
const MOST_LISTED = 500
/** What the last look at a store has seen: it is looked at some times a minute, and a mesh has a thousand boxes. */
const seen = new WeakMap<Reader, ReadonlyMap<string, HeartbeatRow>>()

/** The newest heartbeats of at most `limit` nodes, those first that have been silent for longest. Reads and checks those that came since the last look; the same object is the same heartbeat. */
export async function listHeartbeats(reader: Reader, limit: number): Promise<readonly HeartbeatRow[]> {
  const known = seen.get(reader)
  const marks = await reader.all<Pick<HeartbeatRow, 'node_id' | 'seq' | 'received_at_ms'>>(
    `select node_id, seq, received_at_ms from nodes_heartbeat ${SILENT_FIRST}`,
    { limit },
  )
  const same = marks.flatMap(({ node_id, seq, received_at_ms }) => {
    const row = known?.get(node_id)
    return row?.seq === seq && row.received_at_ms === received_at_ms ? [row] : []
  })
  const held = new Map(same.map((row) => [row.node_id, row]))
  const news = marks.flatMap(({ node_id }) => (held.has(node_id) ? [] : [node_id]))
  if (news.length > 0) {
    const { where, params } = listed('node_id', news.slice(0, MOST_LISTED))
    const rows =
      news.length > MOST_LISTED
        ? await HEARTBEATS.select(reader, SILENT_FIRST, { limit })
        : await HEARTBEATS.select(reader, `where ${where}`, params)
    for (const row of rows) held.set(row.node_id, row)
  }
  seen.set(reader, held)
  return marks.flatMap(({ node_id }) => held.get(node_id) ?? [])
}

const TROUBLED = `select node_id from nodes_heartbeat
  where received_at_ms + :intervals * interval_ms < :now or components like '%"down"%'
  union select node_id from nodes_overlay`

/** Nodes that are degraded, or whose newest heartbeat is old or tells of something that is down. Not checked. */
export async function troubledNodes(reader: Reader, now: number): Promise<readonly string[]> {
  const rows = await reader.all<Pick<NodeRow, 'node_id'>>(TROUBLED, { now, intervals: STALE_INTERVALS })
  return rows.map(({ node_id }) => node_id)
}
