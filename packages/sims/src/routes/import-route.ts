import { type Route, route } from '@steeple/contracts'
import {
  IMPORT_BODY,
  IMPORT_QUERY,
  IMPORT_REPORT,
  type ImportBody,
  type ImportQuery,
} from '../import/import-schema.ts'
import { runImport } from '../import/run-import.ts'
import type { SimsParts } from '../parts.ts'

const BODY_LIMIT = 16 * 1024 * 1024

/** `POST /v1/sims/import` */
export function importRoute(parts: SimsParts): Route {
  return route<unknown, ImportQuery, ImportBody | undefined>({
    method: 'POST',
    path: '/v1/sims/import',
    role: 'sim:issuer',
    summary: 'Import SIMs whose cards exist already',
    description:
      'CSV with a header row (columns in any order and case, comma, semicolon or tab; also as card vendors and pySim ' +
      'write it), or JSON. At most 50,000 rows; one bad row never stops the others unless atomic is asked for. A CSV in ' +
      'which a quote is not closed in its line is refused as a whole.',
    schema: { query: IMPORT_QUERY, body: IMPORT_BODY, response: IMPORT_REPORT },
    consumes: ['text/csv'],
    bodyLimit: BODY_LIMIT,
    errors: ['validation_failed', 'body_too_large', 'unsupported_media_type'],
    audit: 'sim.import',
    handle: (request) => runImport(parts, request),
  })
}
