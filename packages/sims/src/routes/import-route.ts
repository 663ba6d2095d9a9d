import { freeOctets, type Route, route } from '@steeple/contracts'
import { IMPORT_BODY, IMPORT_QUERY, IMPORT_REPORT, type ImportQuery } from '../import/import-schema.ts'
import { ROWS_LIMIT, runImport } from '../import/run-import.ts'
import type { SimsParts } from '../parts.ts'

const BODY_LIMIT = 16 * 1024 * 1024

/** Keys of 3GPP TS 35.208 test set 1, which open no network. */
const IMPORT_EXAMPLE = {
  sims: [
    {
      imsi: '999990000000001',
      ki: '465b5ce8b199b49faa5f0a2ee238a6bc',
      opc: 'cd63cb71954a9f4e48a5994e37a02baf',
      label: 'harbour',
    },
  ],
}

/** `POST /v1/sims/import` */
export function importRoute(parts: SimsParts): Route {
  // What a small import is to take in its own transaction; a large one takes before its first.
  const costs = new WeakMap<object, number>()
  return route<unknown, ImportQuery, Uint8Array | undefined>({
    method: 'POST',
    path: '/v1/sims/import',
    role: 'sim:issuer',
    example: IMPORT_EXAMPLE,
    summary: 'Import SIMs of cards that exist',
    description:
      'CSV with a header row (columns in any order and case; comma, semicolon or tab; UTF-8 or UTF-16; as spreadsheets, card ' +
      'vendors, pySim, Magma and srsEPC write it), or JSON ({"sims": […]}, a list, an object a line; as Ella Core, ' +
      'Open5GS by mongoexport and free5GC have it). At most 50,000 rows; one bad row never stops the others unless atomic ' +
      'is asked for. A CSV in which a quote is not closed is refused as a whole. A SIM that is there gets the label of its row when ' +
      'that is another one. What a row does not say stays as the HSS has it, where it has the subscriber already: number, AMBR, ' +
      'APNs with their rules; such a SIM has no end. A dry run says what would be overwritten there. The limit ' +
      'sim_import_rows counts rows, except those of a dry run.',
    schema: { query: IMPORT_QUERY, body: IMPORT_BODY, response: IMPORT_REPORT },
    consumes: ['text/csv'],
    bodyLimit: BODY_LIMIT,
    rawBody: true,
    errors: ['validation_failed', 'body_too_large', 'unsupported_media_type', 'rate_limited'],
    audit: 'sim.import',
    rateLimit: { name: ROWS_LIMIT, cost: (body: Uint8Array | undefined) => costs.get(body ?? costs) ?? 0 },
    handle: async (request) => {
      const { body = new Uint8Array() } = request
      try {
        return await runImport(parts, request, (rows) => costs.set(body, rows))
      } finally {
        freeOctets(body)
      }
    },
  })
}
