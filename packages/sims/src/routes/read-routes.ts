import {
  changeTag,
  objectSchema,
  ok,
  PAGE_QUERY,
  type Page,
  pageSchema,
  type Route,
  route,
  SIM_PARAMS,
  simNotFound,
} from '@steeple/contracts'
import { attachStatesOf, NEVER_SEEN } from '../attach/attach-state.ts'
import type { SimsParts } from '../parts.ts'
import { changedPart, recordOf, SIM_SCHEMA, simRecord, usageOf } from '../record.ts'
import { SIMS, type SimFilter, type SimPosition, type SimRow } from '../store/sim-store.ts'
import { FILTER_PROPERTIES, filterFrom, matching } from './filter.ts'

/** The parameter of the routes of one SIM. */
export interface SimParams {
  readonly imsi: string
}

/** The list of SIMs and one SIM. */
export function readRoutes(parts: SimsParts): readonly Route[] {
  return [
    route<unknown, SimFilter, unknown>({
      method: 'GET',
      path: '/v1/sims',
      role: 'viewer',
      summary: 'List the SIMs, newest first, or search them',
      description:
        'Filters can be combined. q finds words of labels, and ends of card and phone numbers; identifiers as a whole go to POST /v1/sims/find.',
      schema: {
        query: objectSchema({ ...PAGE_QUERY, ...FILTER_PROPERTIES }),
        response: pageSchema('sims', SIM_SCHEMA),
      },
      errors: ['validation_failed', 'southbound_unavailable', 'store_corrupt'],
      paged: true,
      handle: async (request) => ok(await simPage(parts, request.query, request.page())),
    }),
    route<SimParams, unknown, unknown>({
      method: 'GET',
      path: '/v1/sims/:imsi',
      role: 'viewer',
      summary: 'Show a SIM',
      description: 'By the hash of its IMSI. Its keys and its IMSI are in no answer.',
      schema: { params: SIM_PARAMS, response: SIM_SCHEMA },
      conditional: true,
      errors: ['sim_not_found', 'store_corrupt'],
      handle: async (request) => {
        const row = await SIMS.find(parts.context.db, { hash: request.params.imsi })
        if (row === undefined) throw simNotFound(request.params.imsi)
        const body = await recordOf(parts, row)
        return { ...ok(body), headers: { etag: changeTag(changedPart(row), body) } }
      },
    }),
  ]
}

/** SIMs as answered, with what is known of their phones. */
export async function simRecords(parts: SimsParts, rows: readonly SimRow[]): Promise<readonly object[]> {
  const attachStates = await attachStatesOf(parts.context.db, rows, await parts.attachedSet.fresh())
  const used = await usageOf(parts, rows)
  const view = parts.hss.view()
  return rows.map((row, i) =>
    simRecord({ ...row, usage_bytes: used(row) }, view, attachStates[i] ?? NEVER_SEEN),
  )
}

async function simPage(parts: SimsParts, query: SimFilter, page: Page): Promise<object> {
  const found = await matching(parts, filterFrom(query), page.limit + 1, positionFrom(page.after))
  const shown = found.slice(0, page.limit)
  const last = shown.at(-1)
  const cursor =
    found.length > page.limit && last !== undefined ? page.cursor([last.issued_at_ms, last.hash]) : null
  return { sims: await simRecords(parts, shown), next_cursor: cursor }
}

function positionFrom(after: Page['after']): SimPosition | undefined {
  if (after === undefined) return undefined
  return { issuedAtMs: Number(after[0]), hash: String(after[1]) }
}
