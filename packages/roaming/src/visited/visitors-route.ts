import {
  ok,
  pageFrom,
  pageSchema,
  type Route,
  recordSchema,
  route,
  TIMESTAMP_SCHEMA,
  timestampFromMs,
} from '@steeple/contracts'
import { NODE_ID } from '../home/reach-routes.ts'
import type { RoamingParts } from '../parts.ts'
import { type VisitorRow, visitorsAfter } from '../store.ts'
import { doneText, stateOf } from './visitor-reconciler.ts'

/** `GET /v1/roaming/visitors` */
export function visitorsRoute({ context }: RoamingParts): Route {
  return route({
    method: 'GET',
    path: '/v1/roaming/visitors',
    role: 'viewer',
    summary: 'List the SIMs of other boxes that this one serves',
    description: 'Each with its home and the end of its lease.',
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
      const page = request.page()
      const after = String(page.after?.[0] ?? '')
      const rows = await visitorsAfter(context.db, { after, limit: page.limit + 1 })
      const record = (row: VisitorRow): object => ({
        imsi_sha256_12: row.hash,
        home: { node_id: row.home_id, name: row.home_name },
        state: stateOf(row),
        is_done: row.done === doneText(row),
        since: timestampFromMs(row.since_ms),
        until: timestampFromMs(row.until_ms),
      })
      return ok(await pageFrom(page, 'visitors', rows, record, ({ hash }) => [hash]))
    },
  })
}
