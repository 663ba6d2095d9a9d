import { type JsonSchema, objectSchema, recordSchema } from '@steeple/contracts'
import { NAME_SCHEMA } from '../issue/issue-schema.ts'

/** The query of `POST /v1/sims/import`. */
export interface ImportQuery {
  readonly dry_run?: boolean
  readonly atomic?: boolean
  readonly label?: string
}

/** Rows of one import. */
export const MAX_ROWS = 50_000

export const IMPORT_QUERY: JsonSchema = objectSchema({
  dry_run: { type: 'boolean', description: 'Report what would be done and change nothing.' },
  atomic: { type: 'boolean', description: 'All rows or, when one has an error, none.' },
  label: { ...NAME_SCHEMA, description: 'For every row that has none.' },
})

/** What a JSON body is; the import itself checks it, row by row. A row with an unknown or wrong property is that row's error alone. */
export const IMPORT_BODY: JsonSchema = recordSchema({
  sims: {
    type: 'array',
    description: `At most ${MAX_ROWS} rows with imsi, ki, opc or op, and optionally iccid, msisdn, profile, apns, downlink_bps and uplink_bps, expires_at, label, adm1, pin1, puk1, pin2, puk2.`,
    items: {},
  },
})

export const IMPORT_REPORT: JsonSchema = objectSchema(
  {
    imported: { type: 'integer' },
    updated: { type: 'integer', description: 'SIMs that were there and have another label now.' },
    skipped: { type: 'integer' },
    failed: { type: 'integer' },
    hss: {
      type: 'string',
      enum: ['asked', 'silent'],
      description: 'In a dry run: whether the HSS said what would be overwritten in it.',
    },
    batch_id: {
      type: ['string', 'null'],
      description: 'Filter of the list of SIMs; null when nothing was imported.',
    },
    columns: {
      type: 'array',
      description: 'Columns of a CSV, and what each is read as; null: it is not read. Empty for JSON.',
      items: recordSchema({ name: { type: 'string' }, read_as: { type: ['string', 'null'] } }),
    },
    first_rows: {
      type: 'array',
      description: 'Of a dry run: the first rows as they are understood, without their keys.',
      items: recordSchema({
        row: { type: 'integer' },
        line: { type: ['integer', 'null'] },
        imsi_sha256_12: { type: 'string' },
        iccid_last4: { type: ['string', 'null'] },
        msisdn: { type: ['string', 'null'] },
        profile: { type: 'string' },
        apns: { type: 'array', items: { type: 'string' } },
        label: { type: ['string', 'null'] },
        expires_at: { type: 'string', format: 'date-time' },
      }),
    },
    results: {
      type: 'array',
      items: objectSchema(
        {
          row: { type: 'integer', description: 'Data row, from 1; the header is not counted.' },
          line: { type: ['integer', 'null'], description: 'Line of the CSV, from 1; null for JSON.' },
          imsi_sha256_12: { type: ['string', 'null'] },
          status: {
            type: 'string',
            description:
              'imported, updated (it was there, with another label), exists, error, or not_imported when another row stopped an atomic import.',
          },
          error: { type: ['string', 'null'] },
          kept: {
            type: 'array',
            description:
              'Of a SIM that is there: what the row has otherwise and is not taken over (apns, ambr, msisdn, expires_at; more may come). Absent where nothing.',
            items: { type: 'string' },
          },
          overwrites: {
            type: 'array',
            description:
              'In a dry run, where the HSS has the subscriber already: what importing it would change there. Absent where it has none.',
            items: recordSchema({
              field: { type: 'string' },
              before: {
                type: ['string', 'null'],
                description: 'null where it is a secret, or no one value.',
              },
              after: { type: ['string', 'null'] },
            }),
          },
        },
        ['row', 'line', 'imsi_sha256_12', 'status', 'error'],
      ),
    },
  },
  ['imported', 'updated', 'skipped', 'failed', 'batch_id', 'columns', 'results'],
)
