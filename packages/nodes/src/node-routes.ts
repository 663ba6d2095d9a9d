import {
  type Context,
  nodeNotFound,
  objectSchema,
  ok,
  PAGE_QUERY,
  type Page,
  PLAIN_TEXT_PATTERN,
  pageSchema,
  type Route,
  route,
} from '@steeple/contracts'
import {
  ENROLL_SCHEMA,
  enrollRecord,
  LEAVE_SCHEMA,
  leaveRecord,
  NODE_SCHEMA,
  nodeRecord,
} from './node-record.ts'
import { findNode, listNodes, type NodePosition, type NodeRow } from './node-store.ts'

interface IdParams {
  readonly id: string
}

const ID_PARAMS = objectSchema(
  { id: { type: 'string', minLength: 1, maxLength: 64, pattern: PLAIN_TEXT_PATTERN } },
  ['id'],
)

/** The routes under `/v1/nodes`. */
export function nodeRoutes(context: Context): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/nodes',
      role: 'viewer',
      summary: 'List the nodes, oldest first',
      description: 'This node and, at the root of a mesh, its members as their heartbeats tell.',
      schema: { query: objectSchema(PAGE_QUERY), response: pageSchema('nodes', NODE_SCHEMA) },
      paged: true,
      handle: async (request) => ok(await nodePage(context, request.page())),
    }),
    route<IdParams, unknown, unknown>({
      method: 'GET',
      path: '/v1/nodes/:id/enroll',
      role: 'viewer',
      summary: 'Whether a node is enrolled and until when its certificate is valid',
      description: 'A read. POST at the same address enrolls.',
      schema: { params: ID_PARAMS, response: ENROLL_SCHEMA },
      errors: ['node_not_found'],
      handle: async ({ params }) => ok(enrollRecord(context, await nodeOf(context, params.id))),
    }),
    route<IdParams, unknown, unknown>({
      method: 'GET',
      path: '/v1/nodes/:id/leave',
      role: 'viewer',
      summary: 'Whether and when a node left the mesh',
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

async function nodePage(context: Context, page: Page): Promise<object> {
  const rows = await listNodes(context.db, page.limit + 1, positionFrom(page.after))
  const shown = rows.slice(0, page.limit)
  const last = shown.at(-1)
  const hasMore = rows.length > page.limit && last !== undefined
  return {
    nodes: await Promise.all(shown.map((row) => nodeRecord(context, row))),
    next_cursor: hasMore ? page.cursor([last.created_at_ms, last.node_id]) : null,
  }
}

function positionFrom(after: Page['after']): NodePosition | undefined {
  if (after === undefined) return undefined
  return { createdAtMs: Number(after[0]), nodeId: String(after[1]) }
}
