import {
  ok,
  pageSchema,
  type Route,
  recordSchema,
  route,
  TIMESTAMP_SCHEMA,
  timestampFromMs,
} from '@steeple/contracts'
import { NODE_ID } from '../home/reach-routes.ts'
import type { RoamingParts } from '../parts.ts'
import { visitorsAfter } from '../store.ts'
import { stateOf } from './visitor-reconciler.ts'

/** `GET /v1/roaming/visitors` */
export function visitorsRoute({ context }: RoamingParts): Route {
  return route({
    method: 'GET',
    path: '/v1/roaming/visitors',
    role: 'viewer',
    summary: 'List the SIMs of other boxes that this one serves',
    schema: {
      response: pageSchema(
        'visitors',
        recordSchema({
          imsi_sha256_12: { type: 'string' },
          home: recordSchema({ node_id: NODE_ID, name: { type: 'string' } }),
          state: {
            type: 'string',
            description: 'open, blocked or ended, as it is to be here; more may come.',
          },
          is_done: { type: 'boolean', description: 'Whether HSS and core have come to that.' },
          since: TIMESTAMP_SCHEMA,
          until: { ...TIMESTAMP_SCHEMA, description: 'When it ends, unless its home renews it.' },
        }),
      ),
    },
    paged: true,
    handle: async (request) => {
      const { limit, after, cursor } = request.page()
      const rows = await visitorsAfter(context.db, { after: String(after?.[0] ?? ''), limit: limit + 1 })
      const page = rows.slice(0, limit)
      const last = page.at(-1)
      return ok({
        visitors: page.map((row) => ({
          imsi_sha256_12: row.hash,
          home: { node_id: row.home_id, name: row.home_name },
          state: stateOf(row),
          is_done: row.done === `${row.revision} ${stateOf(row)}`,
          since: timestampFromMs(row.since_ms),
          until: timestampFromMs(row.until_ms),
        })),
        next_cursor: last === undefined || rows.length <= limit ? null : cursor([last.hash]),
      })
    },
  })
}
