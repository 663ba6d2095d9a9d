import {
  type JsonSchema,
  NODE_ID_SCHEMA,
  NULLABLE_TIMESTAMP_SCHEMA,
  nodeNotFound,
  notFound,
  objectSchema,
  ok,
  pageFrom,
  pageSchema,
  type Route,
  recordSchema,
  route,
  timestampOrNull,
} from '@steeple/contracts'
import { ALL, boxesOf, type Parts, PLAN } from '../context.ts'
import {
  type BoxReport,
  digestOf,
  PARTS_SCHEMA,
  PERMITTED_SCHEMA,
  REPORT_SCHEMA,
  readDocument,
  reportIn,
  SIGNED_SCHEMA,
  signed,
} from '../document.ts'
import { DOCUMENTS, type DocumentRow, REPORTS, type ReportRow } from '../store.ts'
import { knowsMore } from './plan.ts'

const DESIRED_BOX: JsonSchema = recordSchema({
  node_id: NODE_ID_SCHEMA,
  name: { type: 'string' },
  groups: { type: 'array', items: { type: 'string' } },
  version: { type: ['integer', 'null'], description: 'Of what it is to have; null: nothing in particular.' },
  has_version: {
    type: ['integer', 'null'],
    description: 'That it has taken; null: it has told nothing yet.',
  },
  permitted: { ...PERMITTED_SCHEMA, description: 'Parts that an admin of the box lets this hub set.' },
  standing: {
    type: 'string',
    description:
      'in_step, differs, refused (some part), not_permitted (some part), waiting, none (it is in no group). More may come.',
  },
  parts: PARTS_SCHEMA,
  told_at: { ...NULLABLE_TIMESTAMP_SCHEMA, description: 'When it last told of itself.' },
})
const OF_NODE: JsonSchema = recordSchema({ id: NODE_ID_SCHEMA })

/** `/v1/desired-state`: what each box is to have, and has. */
export function desiredRoutes(parts: Parts): readonly Route[] {
  return [listRoute(parts), documentRoute(parts), reportRoute(parts)]
}

function listRoute(parts: Parts): Route {
  const { db } = parts.context
  return route<unknown, { readonly group?: string }, unknown>({
    method: 'GET',
    path: '/v1/desired-state',
    role: 'operator',
    summary: 'List what each box is to have by its groups, and where it differs',
    description: 'As each box has told last: parts, its own errors, and drift field by field.',
    schema: {
      query: objectSchema({ group: { type: 'string', maxLength: 64 } }),
      response: pageSchema('boxes', DESIRED_BOX),
    },
    paged: true,
    handle: async (request) => {
      const page = request.page()
      const { group } = request.query
      const after = String(page.after?.[0] ?? '')
      const boxes = (await boxesOf(parts)).filter(({ nodeId }) => nodeId > after)
      const sorted = boxes.toSorted((a, b) => (a.nodeId < b.nodeId ? -1 : 1))
      const rows: ReturnType<typeof recordOf>[] = []
      for (const { nodeId, name } of sorted) {
        if (rows.length > page.limit) break
        const document = await DOCUMENTS.find(db, { node_id: nodeId })
        const row = recordOf(nodeId, name, document, await REPORTS.find(db, { node_id: nodeId }))
        if (group === undefined || row.groups.includes(group)) rows.push(row)
      }
      const shown = (row: (typeof rows)[number]): object => row
      return ok(await pageFrom(page, 'boxes', rows, shown, ({ node_id }) => [node_id]))
    },
  })
}

function documentRoute(parts: Parts): Route {
  const { context, identity } = parts
  return route<{ readonly id: string }, unknown, unknown>({
    method: 'GET',
    path: '/v1/desired-state/:id',
    role: 'operator',
    nodeToo: true,
    summary: 'Get what one box is to have, signed by the hub',
    description: 'A box gets its own.',
    schema: { params: OF_NODE, response: SIGNED_SCHEMA },
    errors: ['node_not_found', 'not_found'],
    handle: async ({ params: { id } }) => {
      const row = await DOCUMENTS.find(context.db, { node_id: id })
      if (row !== undefined) return ok(signed(identity, row.document))
      if (!(await boxesOf(parts)).some(({ nodeId }) => nodeId === id)) throw nodeNotFound(id)
      throw notFound(`desired state of box ${id}: it is in no group`)
    },
  })
}

function reportRoute(parts: Parts): Route {
  const { context } = parts
  return route<{ readonly id: string }, unknown, BoxReport>({
    method: 'PUT',
    path: '/v1/desired-state/:id/report',
    role: 'node',
    nodeToo: true,
    summary: 'Tell the hub what became of the desired state of this box',
    description: 'For members of the mesh. A box tells after each change and every ten minutes.',
    schema: { params: OF_NODE, body: REPORT_SCHEMA, response: recordSchema({ taken: { type: 'boolean' } }) },
    audit: 'groups.report',
    handle: async (request) => {
      const { id } = request.params
      const report = JSON.stringify(request.body)
      const row: ReportRow = { node_id: id, at_ms: context.clock.nowMs(), report }
      const before = await REPORTS.find(context.db, { node_id: id })
      // What is as it was is only seen again.
      if (before?.report === report) {
        await context.db.write((tx) => REPORTS.put(tx, row))
        return ok({ taken: true })
      }
      return await request.mutate(id, async (tx) => {
        await REPORTS.put(tx, row)
        const document = await DOCUMENTS.find(tx, { node_id: id })
        const { version, permitted } = request.body
        const { name } = request.principal
        tx.audit({ detail: { name, version, permitted, standing: standingOf(document, request.body) } })
        const isNews = request.body.parts.some(({ part }) => part === 'software')
        if (isNews || (document !== undefined && knowsMore(document, request.body))) tx.dirty(PLAN, ALL, true)
        return { body: { taken: true } }
      })
    },
  })
}

/** How a box stands to what it is to have. */
export function standingOf(document: DocumentRow | undefined, report: BoxReport | undefined): string {
  if (document === undefined) return 'none'
  if (report?.version !== document.version || report.digest !== digestOf(document.document)) return 'waiting'
  for (const status of ['refused', 'not_permitted', 'waiting'] as const)
    if (report.parts.some((part) => part.status === status)) return status
  return report.parts.some(({ drift }) => drift.length > 0) ? 'differs' : 'in_step'
}

function recordOf(
  node_id: string,
  name: string,
  document: DocumentRow | undefined,
  row: ReportRow | undefined,
) {
  const report = reportIn(row?.report)
  return {
    node_id,
    name,
    groups: document === undefined ? [] : readDocument(document.document).groups,
    version: document?.version ?? null,
    has_version: report?.version ?? null,
    permitted: report?.permitted ?? [],
    standing: standingOf(document, report),
    parts: report?.parts ?? [],
    told_at: timestampOrNull(row?.at_ms ?? null),
  }
}
