import {
  createPause,
  fieldRefused,
  freeOctets,
  objectSchema,
  ok,
  type Reply,
  type Request,
  type Route,
  recordSchema,
  route,
  type SimCard,
  type Tx,
  validationFailed,
} from '@steeple/contracts'
import { luhnCheckDigit } from '@steeple/telecom'
import type { EsimParts } from '../parts.ts'
import { type Given, type GivenCode, iccidOf, lookupReady, putGiven, unfit } from './provided-code.ts'
import { providerBy } from './provider.ts'
import { PROVIDER_PARAMS, type ProviderParams } from './provider-routes.ts'
import { type ReturnedRow, returnedRows } from './returned-codes.ts'

interface ImportQuery {
  readonly dry_run?: boolean
}

/** Rows of one file: they are one transaction, and other writers wait for it. */
const MOST_ROWS = 1_000
const BODY_LIMIT = 4 * 1024 * 1024

/** What is said of a row. */
interface RowReport {
  readonly line: number
  readonly iccid_last4: string | null
  readonly imsi_sha256_12: string | null
  readonly token: string | null
  readonly status: Given | 'error'
  readonly error: string | null
}

/** `POST /v1/esim/providers/{id}/codes` */
export function importCodesRoute(parts: EsimParts): Route {
  return route<ProviderParams, ImportQuery, Uint8Array | undefined>({
    method: 'POST',
    path: '/v1/esim/providers/:id/codes',
    role: 'sim:issuer',
    summary: 'Import the activation codes that a provider sent back',
    description:
      'CSV with a header row: iccid, and activation_code (LPA:1$…) or smdp_address and matching_id, and confirmation_code where there is one; ' +
      'under the names that providers use, in any order, with comma, semicolon or tab, UTF-8 or UTF-16. Each row belongs to the SIM with its ' +
      'ICCID. A bad row is refused with its line and reason, and stops no other. Importing a file again changes nothing.',
    schema: {
      params: PROVIDER_PARAMS,
      query: objectSchema({
        dry_run: { type: 'boolean', description: 'Say what would be done and change nothing.' },
      }),
      response: recordSchema({
        imported: { type: 'integer' },
        replaced: {
          type: 'integer',
          description: 'SIMs that had another code of this provider, which is revoked now.',
        },
        unchanged: { type: 'integer' },
        failed: { type: 'integer' },
        rows: {
          type: 'array',
          items: recordSchema({
            line: { type: 'integer' },
            iccid_last4: { type: ['string', 'null'] },
            imsi_sha256_12: { type: ['string', 'null'] },
            token: { type: ['string', 'null'] },
            status: { type: 'string', description: 'imported, replaced, unchanged or error.' },
            error: { type: ['string', 'null'] },
          }),
        },
      }),
    },
    // Programs that make clients know octets, and not all of them CSV.
    consumes: ['text/csv', 'application/octet-stream'],
    bodyLimit: BODY_LIMIT,
    rawBody: true,
    errors: [
      'validation_failed',
      'body_too_large',
      'unsupported_media_type',
      'esim_provider_not_found',
      'store_corrupt',
    ],
    audit: 'esim.import',
    handle: async (request) => {
      try {
        return await importCodes(parts, request)
      } finally {
        freeOctets(request.body ?? new Uint8Array())
      }
    },
  })
}

/** Throws to undo what a dry run has done. */
class DryRun extends Error {}

async function importCodes(
  parts: EsimParts,
  request: Request<ProviderParams, ImportQuery, Uint8Array | undefined>,
): Promise<Reply> {
  const { id } = request.params
  await providerBy(parts.context.db, id)
  const rows = await rowsOf(request.body)
  const found = await Promise.all(rows.map((row) => matched(parts, row)))
  await lookupReady(parts)
  const isDry = request.query.dry_run === true
  if (isDry) {
    let reports: readonly RowReport[] = []
    await parts.context.db
      .write(async (tx) => {
        reports = await takeAll(parts, tx, id, found)
        throw new DryRun()
      })
      .catch((error: unknown) => {
        if (!(error instanceof DryRun)) throw error
      })
    return ok(reportOf(reports.map((row) => (row.status === 'unchanged' ? row : { ...row, token: null }))))
  }
  return await request.mutate(id, async (tx) => {
    const reports = await takeAll(parts, tx, id, found)
    const { rows: _, ...totals } = reportOf(reports)
    const tokens = reports.filter(({ status }) => status === 'imported' || status === 'replaced')
    tx.audit({ detail: { ...totals, tokens: tokens.map(({ token }) => token) } })
    tx.event({ type: 'esim.import', subject: id, data: totals })
    return ok(reportOf(reports))
  })
}

async function rowsOf(body: Uint8Array | undefined): Promise<readonly ReturnedRow[]> {
  if (body === undefined || body.length === 0)
    throw validationFailed('the import has no body; send the CSV file of the provider')
  const rows: ReturnedRow[] = []
  for await (const row of returnedRows(
    Buffer.from(body.buffer, body.byteOffset, body.byteLength),
    createPause(),
  )) {
    if (rows.length === MOST_ROWS) throw fieldRefused('', `has more than ${MOST_ROWS} rows; split the file`)
    rows.push(row)
  }
  return rows
}

/** A row with its SIM, or what is wrong with it. */
type Matched = { readonly line: number; readonly iccidEnd: string | undefined } & (
  | { readonly problem: string }
  | { readonly card: SimCard; readonly iccid: string; readonly given: GivenCode }
)

async function matched(parts: EsimParts, row: ReturnedRow): Promise<Matched> {
  const { line } = row
  if ('problem' in row) return { line, iccidEnd: row.iccidEnd, problem: row.problem }
  const { iccid: written, ...given } = row.code
  const iccidEnd = written.slice(-4)
  const card = await cardOf(parts, written)
  if (card === undefined)
    return {
      line,
      iccidEnd,
      problem: 'there is no SIM with this ICCID that is not revoked; import the SIM first',
    }
  const problem = unfit(card)
  if (problem !== undefined) return { line, iccidEnd, problem }
  const iccid = await iccidOf(parts, card.imsi)
  return { line, iccidEnd: iccid?.slice(-4), card, iccid: iccid ?? written, given }
}

/** Providers write ICCIDs with and without the check digit. */
async function cardOf({ issuer }: EsimParts, iccid: string): Promise<SimCard | undefined> {
  const found = await issuer.byIccid(iccid)
  if (found !== undefined || iccid.length === 20) return found
  return await issuer.byIccid(`${iccid}${luhnCheckDigit(iccid) ?? ''}`)
}

async function takeAll(
  parts: EsimParts,
  tx: Tx,
  provider: string,
  rows: readonly Matched[],
): Promise<readonly RowReport[]> {
  const lines = new Map<string, number>()
  const reports: RowReport[] = []
  for (const row of rows) {
    const about = { line: row.line, iccid_last4: row.iccidEnd ?? null, token: null, error: null }
    if ('problem' in row) {
      reports.push({ ...about, imsi_sha256_12: null, status: 'error', error: row.problem })
      continue
    }
    const { card, iccid, given } = row
    const imsi_sha256_12 = card.imsi
    const first = lines.get(card.imsi)
    if (first !== undefined) {
      const error = `line ${first} has this ICCID already; leave one of them`
      reports.push({ ...about, imsi_sha256_12, status: 'error', error })
      continue
    }
    lines.set(card.imsi, row.line)
    const taken = await putGiven(parts, tx, { provider, sim: { card, iccid }, given, isReleased: true })
    reports.push(
      'problem' in taken
        ? { ...about, imsi_sha256_12, status: 'error', error: taken.problem }
        : { ...about, imsi_sha256_12, status: taken.what, token: taken.token },
    )
  }
  return reports
}

function reportOf(rows: readonly RowReport[]) {
  const count = (status: RowReport['status']): number => rows.filter((row) => row.status === status).length
  return {
    imported: count('imported'),
    replaced: count('replaced'),
    unchanged: count('unchanged'),
    failed: count('error'),
    rows,
  }
}
