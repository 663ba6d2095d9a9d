import { objectSchema, type Route, route, timestampOrNull } from '@steeple/contracts'
import type { SimsParts } from '../parts.ts'
import { type HssView, provisioningOf, type UsedBytes, usageOf } from '../record.ts'
import type { SimFilter, SimPosition } from '../store/sim-store.ts'
import { apnsOf, type SimRow } from '../store/sim-store.ts'
import { FILTER_PROPERTIES, filterFrom, matching } from './filter.ts'

const CHUNK = 500

type Cell = string | number | null

const COLUMNS: readonly (readonly [
  name: string,
  cell: (row: SimRow, hss: HssView, used: UsedBytes) => Cell,
])[] = [
  ['imsi_sha256_12', (row) => row.hash],
  ['state', (row) => row.state],
  ['suspend_reason', (row) => (row.state === 'suspended' ? row.suspend_reason : null)],
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
  ['usage_bytes', (row, _hss, used) => used(row)],
  ['provisioning', (row, hss) => String(provisioningOf(row, hss).status)],
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
  let head = line(COLUMNS.map(([name]) => name))
  let after: SimPosition | undefined
  for (;;) {
    const rows = await matching(parts, filter, CHUNK, after)
    const used = await usageOf(parts, rows)
    const view = parts.hss.view()
    yield head + rows.map((row) => line(COLUMNS.map(([, cell]) => cell(row, view, used)))).join('')
    head = ''
    const last = rows.at(-1)
    if (rows.length < CHUNK || last === undefined) return
    after = { issuedAtMs: last.issued_at_ms, hash: last.hash }
  }
}

/** RFC 4180. A cell that a spreadsheet would take for a formula begins with an apostrophe. */
function line(cells: readonly Cell[]): string {
  return `${cells.map(cellText).join(',')}\r\n`
}

function cellText(cell: Cell): string {
  const text = cell === null ? '' : String(cell)
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
