import {
  type JsonSchema,
  objectSchema,
  ok,
  PAGE_QUERY,
  type Page,
  PLAIN_TEXT_PATTERN,
  pageSchema,
  type Route,
  route,
  simNotFound,
} from '@steeple/contracts'
import type { SimsParts } from '../parts.ts'
import { HASH_PARAMS, SIM_SCHEMA, simRecord } from '../record.ts'
import { SIM_STATES } from '../states/machine.ts'
import { SIMS } from '../store/sim-row.ts'
import { listSims, type SimFilter, type SimPosition } from '../store/sim-store.ts'

const TEXT: JsonSchema = { type: 'string', minLength: 1, maxLength: 64, pattern: PLAIN_TEXT_PATTERN }

/** The filters of a list of SIMs. */
export const FILTER_PROPERTIES: Readonly<Record<string, JsonSchema>> = {
  state: { type: 'string', enum: SIM_STATES },
  profile: TEXT,
  label: TEXT,
  batch_id: TEXT,
  q: { type: 'string', pattern: '^[0-9a-f]{1,12}$', description: 'The hash begins with it.' },
}

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
      summary: 'List the SIMs, newest first',
      schema: {
        query: objectSchema({ ...PAGE_QUERY, ...FILTER_PROPERTIES }),
        response: pageSchema('sims', SIM_SCHEMA),
      },
      errors: ['store_corrupt'],
      paged: true,
      handle: async (request) => ok(await simPage(parts, request.query, request.page())),
    }),
    route<SimParams, unknown, unknown>({
      method: 'GET',
      path: '/v1/sims/:imsi',
      role: 'viewer',
      summary: 'One SIM',
      schema: { params: HASH_PARAMS, response: SIM_SCHEMA },
      errors: ['sim_not_found', 'store_corrupt'],
      handle: async (request) => {
        const row = await SIMS.find(parts.context.db, { hash: request.params.imsi })
        if (row === undefined) throw simNotFound(request.params.imsi)
        return ok(simRecord(row, parts.hss.view()))
      },
    }),
  ]
}

/** The filters of a query, without `limit` and `cursor`. */
export function filterFrom({ state, profile, label, batch_id, q }: SimFilter): SimFilter {
  return Object.fromEntries(
    Object.entries({ state, profile, label, batch_id, q }).filter(([, value]) => value !== undefined),
  )
}

async function simPage(parts: SimsParts, query: SimFilter, page: Page): Promise<object> {
  const rows = await listSims(parts.context.db, filterFrom(query), page.limit + 1, positionFrom(page.after))
  const shown = rows.slice(0, page.limit)
  const last = shown.at(-1)
  const view = parts.hss.view()
  return {
    sims: shown.map((row) => simRecord(row, view)),
    next_cursor:
      rows.length > page.limit && last !== undefined ? page.cursor([last.issued_at_ms, last.hash]) : null,
  }
}

function positionFrom(after: Page['after']): SimPosition | undefined {
  if (after === undefined) return undefined
  return { issuedAtMs: Number(after[0]), hash: String(after[1]) }
}
