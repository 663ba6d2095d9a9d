import { type JsonSchema, objectSchema } from '@steeple/contracts'

/** The query of `POST /v1/sims/import`. */
export interface ImportQuery {
  readonly dry_run?: boolean
  readonly atomic?: boolean
}
/** Its body: CSV text, or rows. */
export type ImportBody = string | { readonly sims: readonly unknown[] }

/** Rows of one import. */
export const MAX_ROWS = 50_000

/** Schema of the query. */
export const IMPORT_QUERY: JsonSchema = objectSchema({
  dry_run: { type: 'boolean', description: 'Report what would be done and change nothing.' },
  atomic: { type: 'boolean', description: 'All rows or, when one has an error, none.' },
})

/** Schema of a JSON body. A row with an unknown or wrong property is that row's error alone. */
export const IMPORT_BODY: JsonSchema = objectSchema(
  {
    sims: {
      type: 'array',
      description: `At most ${MAX_ROWS} rows with imsi, ki, opc or op, and optionally iccid, msisdn, profile, apns, expires_at, label, adm1, pin1, puk1, pin2, puk2.`,
      items: {},
    },
  },
  ['sims'],
)

/** Schema of the report. */
export const IMPORT_REPORT: JsonSchema = objectSchema(
  {
    imported: { type: 'integer' },
    skipped: { type: 'integer' },
    failed: { type: 'integer' },
    batch_id: {
      type: ['string', 'null'],
      description: 'Filter of the list of SIMs; null when nothing was imported.',
    },
    results: {
      type: 'array',
      items: objectSchema(
        {
          row: { type: 'integer', description: 'Data row, from 1; the header is not counted.' },
          imsi_sha256_12: { type: ['string', 'null'] },
          status: {
            type: 'string',
            description:
              'imported, exists, error, or not_imported when another row stopped an atomic import.',
          },
          error: { type: ['string', 'null'] },
        },
        ['row', 'imsi_sha256_12', 'status', 'error'],
      ),
    },
  },
  ['imported', 'skipped', 'failed', 'batch_id', 'results'],
)
