import {
  forbidden,
  NULLABLE_TIMESTAMP_SCHEMA,
  nodeNotFound,
  nodeStateConflict,
  objectSchema,
  type Reply,
  type Request,
  type Route,
  route,
  timestampFromMs,
} from '@steeple/contracts'
import { NODE_ID_SCHEMA } from '../shapes.ts'
import type { EnrollParts } from './parts.ts'
import { findMember } from './store.ts'

interface Params {
  readonly id: string
}

/** Takes this node out of the mesh that it is a member of; says whether the root has heard of it. */
export type LeaveMesh = (signal: AbortSignal) => Promise<{ readonly isRootTold: boolean }>

/** `POST /v1/nodes/{id}/leave`: at the root a member goes or is removed; at a member, with its own id, it goes. */
export function leaveRoute(parts: EnrollParts, leaveMesh: LeaveMesh): Route {
  return route<Params, unknown, unknown>({
    method: 'POST',
    path: '/v1/nodes/:id/leave',
    role: 'admin',
    nodeToo: true,
    summary: 'Take a node out of the mesh',
    description:
      'At the root: all certificates of the node are revoked at once, its peers are removed, its state is provision again. Its ' +
      'address in the mesh stays its own. At a member, with the id of that node: it tells the root and leaves.',
    schema: {
      params: objectSchema({ id: NODE_ID_SCHEMA }, ['id']),
      response: objectSchema(
        {
          node_id: NODE_ID_SCHEMA,
          left: { type: 'boolean' },
          left_at: NULLABLE_TIMESTAMP_SCHEMA,
          root_told: {
            type: 'boolean',
            description: 'false: the root could not be reached; remove the node there too.',
          },
        },
        ['node_id', 'left', 'left_at', 'root_told'],
      ),
    },
    audit: 'node.leave',
    errors: ['node_not_found', 'node_state_conflict'],
    handle: async (request) => {
      const { id } = request.params
      const { principal } = request
      if (principal.kind === 'node' && principal.id !== id) throw forbidden('admin, or node for its own id')
      return await (id === parts.node.nodeId
        ? leaveHere(parts, request, leaveMesh)
        : remove(parts, request, id))
    },
  })
}

async function remove(parts: EnrollParts, request: Request<Params>, id: string): Promise<Reply> {
  const { roster, nodes, identity } = parts
  if (identity.membership() !== undefined)
    throw nodeStateConflict('only the root of the mesh can remove a node; ask it there')
  if (roster.member(id) === undefined) throw nodeNotFound(id)
  return await request.mutate(id, async (tx) => {
    const row = await findMember(tx, id)
    if (row === undefined) throw nodeNotFound(id)
    if (row.left_at_ms !== null) return { body: answer(id, row.left_at_ms) }
    const revoked = await roster.expel(tx, row)
    await nodes.left(tx, id)
    const isOwnWish = request.principal.kind === 'node'
    tx.audit({ detail: { name: row.name, revoked: revoked.length, is_own_wish: isOwnWish } })
    tx.event({ type: 'node.leave', subject: id, data: { name: row.name } })
    return { body: answer(id, parts.context.clock.nowMs()) }
  })
}

async function leaveHere(parts: EnrollParts, request: Request<Params>, leaveMesh: LeaveMesh): Promise<Reply> {
  const { node, identity, context } = parts
  const membership = identity.membership()
  if (membership === undefined)
    throw nodeStateConflict('this node is the root of its own mesh; it cannot leave it')
  const { isRootTold } = await leaveMesh(request.signal)
  return await request.mutate(node.nodeId, async (tx) => {
    tx.audit({ detail: { mesh: membership.meshName, root_told: isRootTold } })
    return { body: answer(node.nodeId, context.clock.nowMs(), isRootTold) }
  })
}

function answer(id: string, leftAtMs: number, isRootTold = true): object {
  return { node_id: id, left: true, left_at: timestampFromMs(leftAtMs), root_told: isRootTold }
}
