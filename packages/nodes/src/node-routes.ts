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
  route,
  serviceInfoRef,
  TIMESTAMP_SCHEMA,
  timestampFromMs,
  timestampOrNull,
} from '@steeple/contracts'
import { formatPlmn } from '@steeple/telecom'
import { degradedReason } from './degraded.ts'
import { spelling, statusOf } from './lifecycle.ts'
import { isNarrowed, NODE_QUERY, type NodeQuery, type NodeRecord, narrowedPage } from './node-page.ts'
import {
  findHeartbeat,
  findNode,
  type HeartbeatRow,
  listNodes,
  type NodePosition,
  type NodeRow,
} from './node-store.ts'
import { FACTS } from './telemetry-request.ts'

/** More than a mesh has. */
const MOST_NODES = 10_000

/** A node in the list. */
const NODE_SCHEMA: JsonSchema = objectSchema(
  {
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
  },
  [
    ...['node_id', 'name', 'state', 'plmn', 'last_seen', 'lifecycle', 'degraded_reason', 'version', 'on_air'],
    ...['clock_offset_s', ...Object.keys(FACTS)],
  ],
)

/** The status of a node's enrollment. */
const ENROLL_SCHEMA: JsonSchema = objectSchema(
  {
    node_id: { type: 'string' },
    enrolled: { type: 'boolean', description: 'Whether it holds a valid certificate of the mesh CA.' },
    state: { type: 'string', description: 'The lifecycle state, spelled as in requests.' },
    enrolled_at: NULLABLE_TIMESTAMP_SCHEMA,
    certificate_expires_at: NULLABLE_TIMESTAMP_SCHEMA,
  },
  ['node_id', 'enrolled', 'state', 'enrolled_at', 'certificate_expires_at'],
)

/** Whether and when a node left. */
const LEAVE_SCHEMA: JsonSchema = objectSchema(
  {
    node_id: { type: 'string' },
    left: { type: 'boolean' },
    state: { type: 'string', description: 'The lifecycle state, spelled as in requests.' },
    left_at: NULLABLE_TIMESTAMP_SCHEMA,
  },
  ['node_id', 'left', 'state', 'left_at'],
)

/** A node in the list. */
export async function nodeRecord(context: Context, reporter: NodeReporter, row: NodeRow): Promise<object> {
  const [heartbeat, reason] = await Promise.all([
    findHeartbeat(context.db, row.node_id),
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

interface IdParams {
  readonly id: string
}

const ID_PARAMS = objectSchema(
  { id: { type: 'string', minLength: 1, maxLength: 64, pattern: PLAIN_TEXT_PATTERN } },
  ['id'],
)

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
        const rows = await listNodes(context.db, MOST_NODES, undefined)
        const all = await Promise.all(rows.map((row) => nodeRecord(context, reporter, row)))
        return ok(await narrowedPage(all as readonly NodeRecord[], query, request.page()))
      },
    }),
    route<IdParams, unknown, unknown>({
      method: 'GET',
      path: '/v1/nodes/:id/enroll',
      role: 'viewer',
      summary: 'Show whether a node is enrolled, and how long its certificate is valid',
      description: 'A read. POST at the same address enrolls.',
      schema: { params: ID_PARAMS, response: ENROLL_SCHEMA },
      errors: ['node_not_found'],
      handle: async ({ params }) => ok(enrollRecord(context, await nodeOf(context, params.id))),
    }),
    route<IdParams, unknown, unknown>({
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
  const row = await findNode(context.db, nodeId)
  if (row === undefined) throw nodeNotFound(nodeId)
  return row
}

async function nodePage(context: Context, reporter: NodeReporter, page: Page): Promise<object> {
  const rows = await listNodes(context.db, page.limit + 1, positionFrom(page.after))
  const record = (row: NodeRow): Promise<object> => nodeRecord(context, reporter, row)
  return pageFrom(page, 'nodes', rows, record, (row) => [row.created_at_ms, row.node_id])
}

function positionFrom(after: Page['after']): NodePosition | undefined {
  if (after === undefined) return undefined
  return { createdAtMs: Number(after[0]), nodeId: String(after[1]) }
}
