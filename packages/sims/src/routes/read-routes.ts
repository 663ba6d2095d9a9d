import {
  changeTag,
  csvLine,
  type ImsiHash,
  type JsonSchema,
  objectSchema,
  ok,
  PAGE_QUERY,
  type Page,
  type Reply,
  type Route,
  recordSchema,
  route,
  SIM_PARAMS,
  timestampOrNull,
} from '@steeple/contracts'
import { imsiHash, parseIccid, parseImsi } from '@steeple/telecom'
import { inCoreOf } from '../adopt/foreign.ts'
import { diagnose } from '../diagnosis/diagnose.ts'
import { hashesByLongIccidEnd } from '../find/search.ts'
import { SORT_VALUES } from '../find/sorted.ts'
import type { SimsParts } from '../parts.ts'
import {
  changedPart,
  provisioningOf,
  recordOf,
  recordsOf,
  SHOWN_SIM_SCHEMA,
  SIM_SCHEMA,
  type UsedBytes,
  usageOf,
} from '../record.ts'
import {
  apnsOf,
  type SimFilter,
  type SimPosition,
  type SimRow,
  simOf,
  simsOf,
  suspendReasonOf,
} from '../store/sim-store.ts'
import { areWordsBuilt, hashesByWord, msisdnKey } from '../store/word-store.ts'
import { countMatching, FILTER_PROPERTIES, filterFrom, matching, matchingSorted } from './filter.ts'

const CHUNK = 500

type Cell = string | number | null

const COLUMNS: readonly (readonly [
  name: string,
  cell: (row: SimRow, parts: SimsParts, used: UsedBytes) => Cell,
])[] = [
  ['imsi_sha256_12', (row) => row.hash],
  ['state', (row) => row.state],
  ['suspend_reason', suspendReasonOf],
  ['profile', (row) => row.profile],
  ['apns', (row) => apnsOf(row).join(';')],
  ['label', (row) => row.label],
  ['batch_id', (row) => row.batch_id],
  ['iccid_last4', (row) => row.iccid_last4],
  ['msisdn', (row) => row.msisdn],
  ['issued_at', (row) => timestampOrNull(row.issued_at_ms)],
  ['first_attach_at', (row) => timestampOrNull(row.attached_at_ms)],
  ['expires_at', (row) => timestampOrNull(row.expires_at_ms)],
  ['downlink_bps', (row) => row.downlink_bps],
  ['uplink_bps', (row) => row.uplink_bps],
  ['quota_bytes', (row) => row.quota_bytes],
  ['usage_bytes', (row, _parts, used) => used(row).usedBytes],
  ['provisioning', (row, parts) => String(provisioningOf(parts, row).status)],
]

/** `GET /v1/sims/export` */
export function exportRoute(parts: SimsParts): Route {
  return route<unknown, SimFilter, unknown>({
    method: 'GET',
    path: '/v1/sims/export',
    role: 'sim:issuer',
    summary: 'Export all SIMs as CSV, without secrets',
    description:
      'Streamed. Takes the filters of the list. Cells that begin with = + - @ are neutralised for spreadsheets.',
    schema: { query: objectSchema(FILTER_PROPERTIES) },
    produces: ['text/csv'],
    errors: ['southbound_unavailable', 'store_corrupt'],
    handle: async (request) => ({
      headers: {
        'content-type': 'text/csv; charset=utf-8',
        'content-disposition': 'attachment; filename="sims.csv"',
      },
      stream: csv(parts, filterFrom(request.query)),
    }),
  })
}

async function* csv(parts: SimsParts, filter: SimFilter): AsyncGenerator<string> {
  // With the first rows: what cannot be read is then an answer and not half of one.
  let head = csvLine(COLUMNS.map(([name]) => name))
  let after: SimPosition | undefined
  for (;;) {
    const rows = await matching(parts, filter, CHUNK, after)
    const used = await usageOf(parts, rows)
    yield head + rows.map((row) => csvLine(COLUMNS.map(([, cell]) => cell(row, parts, used)))).join('')
    head = ''
    const last = rows.at(-1)
    if (rows.length < CHUNK || last === undefined) return
    after = { issuedAtMs: last.issued_at_ms, hash: last.hash }
  }
}

/** The parameter of the routes of one SIM. */
export interface SimParams {
  readonly imsi: ImsiHash
}

interface ListQuery extends SimFilter {
  readonly sort?: string
}

const SORT: JsonSchema = {
  type: 'string',
  enum: SORT_VALUES,
  description: 'With - in front: descending. SIMs without a value come last. Without it: newest first.',
}

/** The list of SIMs and one SIM. */
export function readRoutes(parts: SimsParts): readonly Route[] {
  return [
    route<unknown, ListQuery, unknown>({
      method: 'GET',
      path: '/v1/sims',
      role: 'viewer',
      summary: 'List the SIMs, newest first or sorted, or search them',
      description:
        'Filters can be combined. q finds words of labels, and ends of card and phone numbers; identifiers as a whole go to POST /v1/sims/find.',
      schema: {
        query: objectSchema({ ...PAGE_QUERY, ...FILTER_PROPERTIES, sort: SORT }),
        response: recordSchema({
          sims: { type: 'array', items: SIM_SCHEMA },
          next_cursor: { type: ['string', 'null'] },
          total: {
            type: ['integer', 'null'],
            description: 'SIMs of all pages. null: a search that would have to look at every SIM to tell.',
          },
        }),
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
      schema: { params: SIM_PARAMS, response: SHOWN_SIM_SCHEMA },
      conditional: true,
      errors: ['sim_not_found', 'store_corrupt'],
      handle: async (request) => {
        const row = await simOf(parts.context.db, request.params.imsi)
        const [record, in_core] = await Promise.all([
          recordOf(parts, row),
          inCoreOf(parts, row, request.signal),
        ])
        const body = { ...record, in_core }
        // Without what the core alone has, the tag is that of the answer to the last change.
        const tag = changeTag(changedPart(row), in_core === null ? record : body)
        return { ...ok(body), headers: { etag: tag } }
      },
    }),
  ]
}

async function simPage(parts: SimsParts, query: ListQuery, page: Page): Promise<object> {
  const filter = filterFrom(query)
  const total = (await countMatching(parts, filter)) ?? null
  const { rows, next } = await (query.sort === undefined
    ? newestPage(parts, filter, page)
    : sortedPage(parts, filter, query.sort, page))
  return {
    sims: await recordsOf(parts, rows),
    next_cursor: next === undefined ? null : page.cursor(next),
    total,
  }
}

/** Rows of one page, and where the next one begins; undefined behind the last. */
interface FoundPage {
  readonly rows: readonly SimRow[]
  readonly next: readonly (string | number)[] | undefined
}

async function newestPage(parts: SimsParts, filter: SimFilter, page: Page): Promise<FoundPage> {
  const found = await matching(parts, filter, page.limit + 1, positionFrom(page.after))
  const rows = found.slice(0, page.limit)
  const last = found.length > page.limit ? rows.at(-1) : undefined
  return { rows, next: last === undefined ? undefined : [last.issued_at_ms, last.hash] }
}

async function sortedPage(parts: SimsParts, filter: SimFilter, sort: string, page: Page): Promise<FoundPage> {
  const [issuedAtMs, hash, value = null] = page.after ?? []
  const after =
    page.after === undefined
      ? undefined
      : { issuedAtMs: Number(issuedAtMs), hash: String(hash) as ImsiHash, value }
  const found = await matchingSorted(parts, filter, sort, page.limit + 1, after)
  const shown = found.slice(0, page.limit)
  const last = found.length > page.limit ? shown.at(-1)?.at : undefined
  const end = last === undefined || last.value === null ? [] : [last.value]
  return {
    rows: shown.map(({ row }) => row),
    next: last === undefined ? undefined : [last.issuedAtMs, last.hash, ...end],
  }
}

function positionFrom(after: Page['after']): SimPosition | undefined {
  if (after === undefined) return undefined
  return { issuedAtMs: Number(after[0]), hash: String(after[1]) }
}

const CHECK = recordSchema({
  name: {
    type: 'string',
    description:
      'state, provisioning, subscriber, network, core, radio, attached, attempts, internet or clock; more may come.',
  },
  status: { type: 'string', description: 'ok, warning, failed or unknown; more may come.' },
  detail: { type: 'string' },
  advice: { type: ['string', 'null'], description: 'What to do about it.' },
})
const DIAGNOSIS = recordSchema({
  imsi_sha256_12: { type: 'string' },
  verdict: { type: 'string', description: 'The first thing that keeps the phone off, in one sentence.' },
  checks: { type: 'array', items: CHECK },
})

/** `GET /v1/sims/{imsi}/diagnosis` */
export function diagnosisRoute(parts: SimsParts): Route {
  return route<SimParams, unknown, unknown>({
    method: 'GET',
    path: '/v1/sims/:imsi/diagnosis',
    role: 'viewer',
    summary: 'Show why the phone of a SIM is not on the network, and what to do',
    description: 'Asks the HSS and the core now, for at most 5 s: what does not answer in time is unknown.',
    schema: { params: SIM_PARAMS, response: DIAGNOSIS },
    errors: ['sim_not_found', 'store_corrupt'],
    handle: async (request) => {
      const hash = request.params.imsi
      const row = await simOf(parts.context.db, hash)
      return ok({ imsi_sha256_12: hash, ...(await diagnose(parts, row, request.signal)) })
    },
  })
}

interface FindBody {
  readonly imsi?: string
  readonly iccid?: string
  readonly msisdn?: string
}

/** SIMs that share an identifier: several can have been imported with one MSISDN. */
const MOST = 100

const BODY: JsonSchema = objectSchema(
  {
    imsi: { type: 'string', pattern: '^[0-9]{6,15}$', writeOnly: true },
    iccid: { type: 'string', pattern: '^[0-9]{18,20}$', writeOnly: true },
    msisdn: { type: 'string', pattern: '^[0-9]{3,15}$', description: 'Digits without a plus.' },
  },
  [],
  { minProperties: 1 },
)

/** `POST /v1/sims/find` */
export function findRoute(parts: SimsParts): Route {
  return route<unknown, unknown, FindBody>({
    method: 'POST',
    path: '/v1/sims/find',
    role: 'viewer',
    example: { msisdn: '15550100' },
    summary: 'Find a SIM by its IMSI, ICCID or number',
    description:
      'Changes nothing. Identifiers are in the body, so that no address and no log has them. A SIM must match ' +
      'everything that you give.',
    schema: {
      body: BODY,
      response: recordSchema({ sims: { type: 'array', items: SIM_SCHEMA } }),
    },
    errors: ['validation_failed', 'store_corrupt'],
    audit: { none: 'it changes nothing' },
    handle: (request) => find(parts, request.body),
  })
}

async function find(parts: SimsParts, body: FindBody): Promise<Reply> {
  const sets: ReadonlySet<string>[] = []
  if (body.imsi !== undefined) sets.push(byImsi(body.imsi))
  if (body.iccid !== undefined) sets.push(await byIccid(parts, body.iccid))
  if (body.msisdn !== undefined) sets.push(await byMsisdn(parts, body.msisdn))
  const [first = new Set<string>(), ...others] = sets
  const hashes = [...first].filter((hash) => others.every((set) => set.has(hash))).slice(0, MOST)
  const rows = await simsOf(parts.context.db, hashes)
  const found = rows.filter(({ msisdn }) => body.msisdn === undefined || msisdn === body.msisdn)
  return ok({ sims: await recordsOf(parts, found) })
}

function byImsi(digits: string): ReadonlySet<string> {
  const imsi = parseImsi(digits)
  return new Set(imsi === undefined ? [] : [imsiHash(imsi)])
}

function byIccid(parts: SimsParts, text: string): Promise<ReadonlySet<string>> {
  const iccid = parseIccid(text)
  return hashesByLongIccidEnd(parts, iccid ?? text)
}

async function byMsisdn(parts: SimsParts, msisdn: string): Promise<ReadonlySet<string>> {
  const { db } = parts.context
  if (await areWordsBuilt(db)) return new Set(await hashesByWord(db, msisdnKey(msisdn), MOST))
  const rows = await matching(parts, { msisdn }, MOST, undefined)
  return new Set(rows.map(({ hash }) => hash))
}
