import {
  jsonBody,
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
import { attachStateOf, attachStatesOf, NEVER_SEEN } from '../attach/attach-state.ts'
import type { SimsParts } from '../parts.ts'
import { SIM_SCHEMA, usageOf } from '../record.ts'
import { simText, tagOf } from '../sim-text.ts'
import type { KnownSim, SimFilter, SimPosition } from '../store/sim-store.ts'
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
        const known = await parts.known.find(parts.context.db, { hash: request.params.imsi })
        if (known === undefined) throw simNotFound(request.params.imsi)
        const attachState = await attachStateOf(parts, known.row)
        const used = await usageOf(parts, [known.row])
        const made = simText(known, parts.hss.view(), attachState, used(known.row))
        return { ...ok(jsonBody(made.text)), headers: { etag: tagOf(known, made) } }
      },
    }),
  ]
}

/** SIMs as answered, as JSON, with what is known of their phones. */
export async function simTexts(parts: SimsParts, sims: readonly KnownSim[]): Promise<readonly string[]> {
  const rows = sims.map(({ row }) => row)
  const attachStates = await attachStatesOf(parts.context.db, rows, await parts.attachedSet.fresh())
  const used = await usageOf(parts, rows)
  const view = parts.hss.view()
  return sims.map((known, i) => simText(known, view, attachStates[i] ?? NEVER_SEEN, used(known.row)).text)
}

async function simPage(parts: SimsParts, query: SimFilter, page: Page): Promise<object> {
  const found = await matching(parts, filterFrom(query), page.limit + 1, positionFrom(page.after))
  const shown = found.slice(0, page.limit)
  const last = shown.at(-1)?.row
  const texts = await simTexts(parts, shown)
  const cursor =
    found.length > page.limit && last !== undefined ? page.cursor([last.issued_at_ms, last.hash]) : null
  return jsonBody(`{"sims":[${texts.join()}],"next_cursor":${JSON.stringify(cursor)}}`)
}

function positionFrom(after: Page['after']): SimPosition | undefined {
  if (after === undefined) return undefined
  return { issuedAtMs: Number(after[0]), hash: String(after[1]) }
}
