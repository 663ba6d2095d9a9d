import {
  type Context,
  type JsonSchema,
  type NodeReport,
  type NodeReporter,
  NULLABLE_TIMESTAMP_SCHEMA,
  nodeIdentityRef,
  nodeNotFound,
  objectSchema,
  ok,
  PAGE_QUERY,
  type Page,
  PLAIN_TEXT_PATTERN,
  pageFrom,
  pageSchema,
  type Route,
  recordSchema,
  route,
  serviceInfoRef,
  TIMESTAMP_SCHEMA,
  timestampFromMs,
  timestampOrNull,
} from '@steeple/contracts'
import { formatPlmn } from '@steeple/telecom'
import { degradedReason } from './degraded.ts'
import { spelling, statusOf } from './lifecycle.ts'
import { HEARTBEATS, type HeartbeatRow, listNodes, NODES, type NodeRow } from './node-store.ts'
import { FACTS } from './telemetry-request.ts'

/** What a list of nodes can be sorted by, beside the order in which they came. */
const SORTED = ['name', 'state', 'version', 'last_seen', 'phones', 'sims', 'octets_today', 'backlog'] as const
type Sorted = (typeof SORTED)[number]

/** A node as the list shows it, as far as it is sorted and narrowed by. */
export type NodeRecord = Readonly<Record<Sorted | 'node_id', string | number | null>>

/** What narrows and sorts a list of nodes. */
export interface NodeQuery {
  readonly q?: string
  readonly state?: string
  readonly version?: string
  readonly sort?: Sorted | `-${Sorted}`
}

const WORD: JsonSchema = { type: 'string', minLength: 1, maxLength: 64, pattern: PLAIN_TEXT_PATTERN }

/** The parameters of `NodeQuery`. */
const NODE_QUERY: Readonly<Record<keyof NodeQuery, JsonSchema>> = {
  q: { ...WORD, description: 'Part of the name, or the beginning of the id.' },
  state: { ...WORD, description: 'As in the answer: degraded, on-air, …' },
  version: WORD,
  sort: {
    type: 'string',
    enum: SORTED.flatMap((name) => [name, `-${name}`]),
    description: 'With - in front: descending. Nodes without a value come last. Without it: oldest first.',
  },
}

/** Whether a query asks for more than pages in the order of the table. */
export function isNarrowed(query: NodeQuery): boolean {
  return Object.keys(NODE_QUERY).some((name) => query[name as keyof NodeQuery] !== undefined)
}

/** A page of the nodes that a query means: a mesh has a thousand, and all are looked at. */
export async function narrowedPage(
  all: readonly NodeRecord[],
  query: NodeQuery,
  page: Page,
): Promise<object> {
  const wanted = all.filter((node) => isWanted(node, query))
  const { sort } = query
  const key = (sort?.replace('-', '') ?? 'name') as Sorted
  const sorted = sort === undefined ? wanted : wanted.toSorted(comparing(key, sort.startsWith('-')))
  // A position that was there: who has gone meanwhile is looked for by where the list went on.
  const [at = 0, id = ''] = page.after ?? []
  const found = sorted.findIndex(({ node_id }) => node_id === id)
  const rest = page.after === undefined ? sorted : sorted.slice(found < 0 ? Number(at) : found + 1)
  const position = (node: NodeRecord): readonly (string | number)[] => [
    sorted.indexOf(node),
    String(node.node_id),
  ]
  return await pageFrom(page, 'nodes', rest.slice(0, page.limit + 1), (node) => node, position)
}

function isWanted(node: NodeRecord, { q, state, version }: NodeQuery): boolean {
  const text = q?.toLowerCase() ?? ''
  const isNamed = String(node.name).toLowerCase().includes(text) || String(node.node_id).startsWith(text)
  return (
    isNamed &&
    (state === undefined || node.state === state) &&
    (version === undefined || node.version === version)
  )
}

function comparing(key: Sorted, isDown: boolean): (one: NodeRecord, other: NodeRecord) => number {
  return (one, other) => {
    const [a, b] = [one[key], other[key]]
    if (a === b) return String(one.node_id) < String(other.node_id) ? -1 : 1
    if (a === null || b === null) return a === null ? 1 : -1
    return isDown ? -order(a, b) : order(a, b)
  }
}

function order(a: string | number, b: string | number): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b
  return String(a).localeCompare(String(b), 'en', { numeric: true })
}

/** More than a mesh has. */
const MOST_NODES = 10_000

/** A node in the list. */
const NODE_SCHEMA: JsonSchema = recordSchema({
  node_id: { type: 'string' },
  name: { type: 'string' },
  state: {
    type: 'string',
    description: 'bootstrap, registered, on-air, peered or degraded; more may come.',
  },
  plmn: { type: 'string', description: 'MCC-MNC, as the node reports it; until then that of this node.' },
  last_seen: { ...TIMESTAMP_SCHEMA, description: 'Last heartbeat; for this node without an agent, now.' },
  lifecycle: {
    type: 'string',
    description: 'The lifecycle state under the status, spelled as in requests.',
  },
  degraded_reason: { type: ['string', 'null'] },
  version: { type: ['string', 'null'], description: 'Of the service there; null until the node has told.' },
  on_air: {
    type: ['boolean', 'null'],
    description:
      'Whether TX is armed there. Null until the node has reported it, and while the policy cannot be read.',
  },
  clock_offset_s: {
    type: ['number', 'null'],
    description: 'How far its clock is ahead of this one, s, its way here included; null for this node.',
  },
  ...FACTS,
})

/** The status of a node's enrollment. */
const ENROLL_SCHEMA: JsonSchema = recordSchema({
  node_id: { type: 'string' },
  enrolled: { type: 'boolean', description: 'Whether it holds a valid certificate of the mesh CA.' },
  state: { type: 'string', description: 'The lifecycle state, spelled as in requests.' },
  enrolled_at: NULLABLE_TIMESTAMP_SCHEMA,
  certificate_expires_at: NULLABLE_TIMESTAMP_SCHEMA,
})

/** Whether and when a node left. */
const LEAVE_SCHEMA: JsonSchema = recordSchema({
  node_id: { type: 'string' },
  left: { type: 'boolean' },
  state: { type: 'string', description: 'The lifecycle state, spelled as in requests.' },
  left_at: NULLABLE_TIMESTAMP_SCHEMA,
})

/** A node in the list. */
export async function nodeRecord(context: Context, reporter: NodeReporter, row: NodeRow): Promise<object> {
  const [heartbeat, reason] = await Promise.all([
    HEARTBEATS.find(context.db, { node_id: row.node_id }),
    degradedReason(context, row.node_id),
  ])
  const isOwn = row.node_id === context.use(nodeIdentityRef).nodeId
  const told: Told = isOwn
    ? { version: context.use(serviceInfoRef).version, ...(await reporter.report()) }
    : toldBy(heartbeat)
  const silentSinceMs = isOwn ? context.clock.nowMs() : row.state_since_ms
  return {
    node_id: row.node_id,
    name: row.name,
    state: statusOf(row.state, reason !== undefined),
    plmn: told.plmn ?? formatPlmn(context.settings.plmn),
    last_seen: timestampFromMs(heartbeat?.received_at_ms ?? silentSinceMs),
    lifecycle: spelling(row.state),
    degraded_reason: reason ?? null,
    version: told.version ?? null,
    on_air: told.on_air ?? null,
    clock_offset_s:
      isOwn || heartbeat === undefined ? null : (heartbeat.at_ms - heartbeat.received_at_ms) / 1_000,
    ...UNTOLD,
    ...factsOf(told),
  }
}

const UNTOLD = {
  radio_connected: null,
  channel: null,
  phones: null,
  sims: null,
  octets_today: null,
  backlog: null,
  incidents: [],
} as const

function factsOf(told: Told): object {
  return Object.fromEntries(Object.entries(told).filter(([name]) => Object.hasOwn(FACTS, name)))
}

/** What a node says of itself. */
interface Told extends Partial<NodeReport> {
  readonly version?: string | undefined
}

function toldBy(heartbeat: HeartbeatRow | undefined): Told {
  if (heartbeat === undefined) return {}
  // Both were checked as they came in.
  const { svc } = JSON.parse(heartbeat.versions) as { readonly svc?: string }
  const node = heartbeat.node === null ? undefined : (JSON.parse(heartbeat.node) as NodeReport)
  return { version: svc, ...node }
}

/** The status of a node's enrollment. This node's certificate is its own, made with its identity. */
function enrollRecord(context: Context, row: NodeRow): object {
  const identity = context.use(nodeIdentityRef)
  const isOwn = row.node_id === identity.nodeId
  const expiresAtMs = isOwn ? identity.certificateExpiresAtMs : row.certificate_expires_at_ms
  const enrolledAtMs = isOwn ? identity.createdAtMs : row.enrolled_at_ms
  return {
    node_id: row.node_id,
    enrolled: row.left_at_ms === null && expiresAtMs !== null && expiresAtMs > context.clock.nowMs(),
    state: spelling(row.state),
    enrolled_at: timestampOrNull(enrolledAtMs),
    certificate_expires_at: timestampOrNull(expiresAtMs),
  }
}

/** Whether and when a node left. */
function leaveRecord(row: NodeRow): object {
  return {
    node_id: row.node_id,
    left: row.left_at_ms !== null,
    state: spelling(row.state),
    left_at: timestampOrNull(row.left_at_ms),
  }
}

const ID_PARAMS = recordSchema({ id: WORD })

/** The routes under `/v1/nodes`. */
export function nodeRoutes(context: Context, reporter: NodeReporter): readonly Route[] {
  return [
    route<unknown, NodeQuery, unknown>({
      method: 'GET',
      path: '/v1/nodes',
      role: 'viewer',
      summary: 'List the nodes, oldest first or sorted, or search them',
      description: 'This node and, at the root of a mesh, its members as their heartbeats tell.',
      schema: {
        query: objectSchema({ ...PAGE_QUERY, ...NODE_QUERY }),
        response: pageSchema('nodes', NODE_SCHEMA),
      },
      paged: true,
      handle: async (request) => {
        const { query } = request
        if (!isNarrowed(query)) return ok(await nodePage(context, reporter, request.page()))
        const rows = await listNodes(context.db, MOST_NODES)
        const all = await Promise.all(rows.map((row) => nodeRecord(context, reporter, row)))
        return ok(await narrowedPage(all as readonly NodeRecord[], query, request.page()))
      },
    }),
    route<{ readonly id: string }, unknown, unknown>({
      method: 'GET',
      path: '/v1/nodes/:id/enroll',
      role: 'viewer',
      summary: 'Show whether a node is enrolled, and how long its certificate is valid',
      description: 'A read. POST at the same address enrolls.',
      schema: { params: ID_PARAMS, response: ENROLL_SCHEMA },
      errors: ['node_not_found'],
      handle: async ({ params }) => ok(enrollRecord(context, await nodeOf(context, params.id))),
    }),
    route<{ readonly id: string }, unknown, unknown>({
      method: 'GET',
      path: '/v1/nodes/:id/leave',
      role: 'viewer',
      summary: 'Show whether and when a node left the mesh',
      description: 'A read. POST at the same address takes the node out.',
      schema: { params: ID_PARAMS, response: LEAVE_SCHEMA },
      errors: ['node_not_found'],
      handle: async ({ params }) => ok(leaveRecord(await nodeOf(context, params.id))),
    }),
  ]
}

async function nodeOf(context: Context, nodeId: string): Promise<NodeRow> {
  const row = await NODES.find(context.db, { node_id: nodeId })
  if (row === undefined) throw nodeNotFound(nodeId)
  return row
}

async function nodePage(context: Context, reporter: NodeReporter, page: Page): Promise<object> {
  const rows = await listNodes(context.db, page.limit + 1, page.after)
  const record = (row: NodeRow): Promise<object> => nodeRecord(context, reporter, row)
  return pageFrom(page, 'nodes', rows, record, (row) => [row.created_at_ms, row.node_id])
}
