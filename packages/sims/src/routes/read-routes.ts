import {
  changeTag,
  objectSchema,
  ok,
  PAGE_QUERY,
  type Page,
  pageSchema,
  type Route,
  route,
  simNotFound,
} from '@steeple/contracts'
import { sightsOf } from '../attach/sight.ts'
import type { SimsParts } from '../parts.ts'
import { changedPart, HASH_PARAMS, recordOf, SIM_SCHEMA, simRecord, withUsage } from '../record.ts'
import { SHOWN_SIMS, type ShownSim } from '../store/sim-row.ts'
import type { SimFilter, SimPosition } from '../store/sim-store.ts'
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
      summary: 'One SIM',
      schema: { params: HASH_PARAMS, response: SIM_SCHEMA },
      conditional: true,
      errors: ['sim_not_found', 'store_corrupt'],
      handle: async (request) => {
        const row = await SHOWN_SIMS.find(parts.context.db, { hash: request.params.imsi })
        if (row === undefined) throw simNotFound(request.params.imsi)
        const body = await recordOf(parts, row)
        return { ...ok(body), headers: { etag: changeTag(changedPart(row), body) } }
      },
    }),
  ]
}

/** Rows as answered, with what is known of their phones. */
export async function simRecords(
  parts: SimsParts,
  rows: readonly ShownSim[],
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const view = parts.hss.view()
  const sights = await sightsOf(parts.context.db, rows, await parts.presence.fresh())
  return (await withUsage(parts, rows)).flatMap((row) => {
    const sight = sights.get(row.hash)
    return sight === undefined ? [] : [simRecord(row, view, sight)]
  })
}

async function simPage(parts: SimsParts, query: SimFilter, page: Page): Promise<object> {
  const rows = await matching(parts, filterFrom(query), page.limit + 1, positionFrom(page.after))
  const shown = rows.slice(0, page.limit)
  const last = shown.at(-1)
  return {
    sims: await simRecords(parts, shown),
    next_cursor:
      rows.length > page.limit && last !== undefined ? page.cursor([last.issued_at_ms, last.hash]) : null,
  }
}

function positionFrom(after: Page['after']): SimPosition | undefined {
  if (after === undefined) return undefined
  return { issuedAtMs: Number(after[0]), hash: String(after[1]) }
}
