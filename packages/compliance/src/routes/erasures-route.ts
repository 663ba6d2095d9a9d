import {
  type ImsiHash,
  isServiceError,
  objectSchema,
  PAGE_QUERY,
  type Page,
  pageFrom,
  pageSchema,
  type Route,
  recordSchema,
  route,
  simRegisterRef,
  TIMESTAMP_SCHEMA,
  timestampFromMs,
} from '@steeple/contracts'
import type { ComplianceParts } from '../parts.ts'
import { type ErasureRow, openErasures } from '../store.ts'

const ERASURE = recordSchema({
  imsi_sha256_12: { type: 'string' },
  asked_at: TIMESTAMP_SCHEMA,
  asked_by: { type: 'string', description: 'kind:id' },
  waits_for: {
    type: ['string', 'null'],
    description: 'What its IMSI is still needed for; null when it is about to go.',
  },
})

/** `GET /v1/compliance/erasures` */
export function erasuresRoute(parts: ComplianceParts): Route {
  return route({
    method: 'GET',
    path: '/v1/compliance/erasures',
    role: 'operator',
    summary: 'List the erasures that are not finished',
    description:
      'SIMs with an erased holder and an IMSI that is still here, until HSS and core have removed it; by hash. Empty ' +
      'when every erasure is finished.',
    schema: { query: objectSchema(PAGE_QUERY), response: pageSchema('erasures', ERASURE) },
    errors: ['store_corrupt'],
    paged: true,
    handle: async (request) => ({ body: await erasurePage(parts, request.page()) }),
  })
}

async function erasurePage(parts: ComplianceParts, page: Page): Promise<object> {
  const rows = await openErasures(parts.context.db, String(page.after?.[0] ?? ''), page.limit + 1)
  const record = (row: ErasureRow): Promise<object> => erasureRecord(parts, row)
  return pageFrom(page, 'erasures', rows, record, ({ subject }) => [subject])
}

async function erasureRecord({ context }: ComplianceParts, row: ErasureRow): Promise<object> {
  // Stored from a parameter that is a hash by its schema.
  const remains = context.use(simRegisterRef).remains(row.subject as ImsiHash)
  return {
    imsi_sha256_12: row.subject,
    asked_at: timestampFromMs(row.asked_at_ms),
    asked_by: row.asked_by,
    waits_for: await remains.then(
      (found) => found?.waitsFor ?? null,
      (error: unknown) => {
        if (isServiceError(error)) return error.message
        throw error
      },
    ),
  }
}
