import {
  type JsonSchema,
  NODE_ID_SCHEMA,
  NULLABLE_TIMESTAMP_SCHEMA,
  nodeNotFound,
  ok,
  pageFrom,
  pageSchema,
  type Route,
  recordSchema,
  route,
  timestampOrNull,
} from '@steeple/contracts'
import { ALL, BOX_RESOURCE, indProblem, othersOf, PLAN_RESOURCE, type RoamingParts } from '../parts.ts'
import { allBoxes, BOXES, type BoxRow, changeBox } from '../store.ts'

const BOX: JsonSchema = recordSchema({
  node_id: NODE_ID_SCHEMA,
  name: { type: 'string' },
  is_member: { type: 'boolean', description: 'Whether it is in the mesh now.' },
  permitted: { type: 'boolean', description: 'Whether it may have keys of SIMs of this box.' },
  permitted_at: NULLABLE_TIMESTAMP_SCHEMA,
  heard_at: { ...NULLABLE_TIMESTAMP_SCHEMA, description: 'When it last answered.' },
  problem: { type: ['string', 'null'], description: 'Why it did not answer last time.' },
})

/** `/v1/roaming/boxes` */
export function boxRoutes(parts: RoamingParts): readonly Route[] {
  return [listRoute(parts), permitRoute(parts)]
}

function listRoute(parts: RoamingParts): Route {
  return route({
    method: 'GET',
    path: '/v1/roaming/boxes',
    role: 'viewer',
    summary: 'List the boxes that may serve SIMs of this one',
    description: 'Each other member of the mesh, and each box that was permitted.',
    schema: { response: pageSchema('boxes', BOX) },
    paged: true,
    handle: async (request) => {
      const page = request.page()
      const others = (await othersOf(parts)) ?? new Map<string, { readonly name: string }>()
      const known = new Map((await allBoxes(parts.context.db)).map((box) => [box.node_id, box]))
      const ids = [...new Set([...others.keys(), ...known.keys()])].toSorted()
      const after = String(page.after?.[0] ?? '')
      const record = (id: string): object => recordOf(parts, id, known.get(id), others.get(id))
      const rest = ids.filter((id) => id > after)
      return ok(await pageFrom(page, 'boxes', rest, record, (id) => [id]))
    },
  })
}

function permitRoute(parts: RoamingParts): Route {
  return route<{ readonly id: string }, unknown, { readonly permitted: boolean }>({
    method: 'PUT',
    path: '/v1/roaming/boxes/:id',
    role: 'admin',
    summary: 'Permit a box to serve SIMs of this one, or end that',
    description:
      'Who owns a permitted box can read the keys of the SIMs that reach it. When it ends, its leases end within seconds, or by time where ' +
      'it is not reached.',
    example: { permitted: true },
    schema: {
      params: recordSchema({ id: NODE_ID_SCHEMA }),
      body: recordSchema({ permitted: { type: 'boolean' } }),
      response: BOX,
    },
    audit: 'roaming.permit',
    errors: ['node_not_found'],
    handle: async (request) => {
      const { id } = request.params
      const { permitted } = request.body
      const other = (await othersOf(parts))?.get(id)
      const known = await BOXES.find(parts.context.db, { node_id: id })
      const name = other?.name ?? known?.name
      if (name === undefined || (permitted && other === undefined)) throw nodeNotFound(id)
      return await request.mutate(id, async (tx) => {
        const before = await BOXES.find(tx, { node_id: id })
        const at = permitted ? (before?.permitted_at_ms ?? parts.context.clock.nowMs()) : null
        const row = await changeBox(tx, { node_id: id, name }, { permitted_at_ms: at })
        tx.audit({ detail: { name, permitted } })
        tx.dirty(PLAN_RESOURCE, ALL, true)
        tx.dirty(BOX_RESOURCE, id)
        return { body: recordOf(parts, id, row, other) }
      })
    },
  })
}

function recordOf(
  parts: RoamingParts,
  node_id: string,
  row: BoxRow | undefined,
  other: { readonly name: string } | undefined,
): object {
  return {
    node_id,
    name: other?.name ?? row?.name ?? '',
    is_member: other !== undefined,
    permitted: row !== undefined && row.permitted_at_ms !== null,
    permitted_at: timestampOrNull(row?.permitted_at_ms ?? null),
    heard_at: timestampOrNull(row?.heard_at_ms ?? null),
    problem: indProblem(parts) ?? row?.problem ?? null,
  }
}
