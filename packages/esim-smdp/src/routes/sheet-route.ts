import { notFound, objectSchema, type Route, route, type SimCard, timestampFromMs } from '@steeple/contracts'
import { activationOf } from '../codes/matching.ts'
import { needEnabled } from '../codes/ready.ts'
import { ESIM_CODE } from '../codes/restored.ts'
import { PER_PAGE, SHEET_FOOT, SHEET_POLICY, type SheetCard, sheetHead, sheetPage } from '../codes/sheet.ts'
import type { EsimParts } from '../parts.ts'
import { printableCodes } from '../store/code-queries.ts'
import type { CodeRow } from '../store/rows.ts'

interface SheetQuery {
  readonly batch: string
}

/** Characters of a date in a timestamp. */
const DATE = 10

/** `GET /v1/esim/sheet` */
export function sheetRoute(parts: EsimParts): Route {
  return route<unknown, SheetQuery, unknown>({
    method: 'GET',
    path: '/v1/esim/sheet',
    role: 'sim:issuer',
    summary: 'Get the cards of a batch to print',
    description:
      'A page of HTML that loads nothing: the codes of a batch that can still be downloaded, ten cards on an A4 page, with cut marks.',
    schema: {
      query: objectSchema({ batch: { type: 'string', pattern: '^[a-z0-9-]{1,64}$' } }, ['batch']),
    },
    produces: ['text/html'],
    errors: ['validation_failed', 'esim_disabled', 'not_found', 'store_corrupt'],
    handle: async ({ query: { batch } }) => {
      needEnabled(parts)
      const pages = pagesOf(parts, batch)
      const first = await pages.next()
      if (first.done === true) throw notFound(`code of batch ${batch} that could be printed`)
      return {
        headers: {
          'content-type': 'text/html; charset=utf-8',
          'content-security-policy': SHEET_POLICY,
          'cache-control': 'no-store',
        },
        stream: sheet(batch, first.value, pages),
      }
    },
  })
}

async function* sheet(batch: string, first: string, rest: AsyncGenerator<string>): AsyncGenerator<string> {
  yield sheetHead(`eSIM cards of batch ${batch}`) + first
  yield* rest
  yield SHEET_FOOT
}

async function* pagesOf(parts: EsimParts, batch: string): AsyncGenerator<string, undefined> {
  for (let after = ''; ; ) {
    const rows = await printableCodes(parts.context.db, batch, after, PER_PAGE)
    const closed = await parts.closed.among(
      ESIM_CODE,
      rows.map(({ token }) => token),
    )
    const open = rows.filter(({ token }) => !closed.has(token))
    if (open.length > 0) yield await sheetPage(await cardsOf(parts, open))
    const last = rows.at(-1)
    if (rows.length < PER_PAGE || last === undefined) return undefined
    after = last.token
  }
}

async function cardsOf(
  { issuer, vault }: EsimParts,
  rows: readonly CodeRow[],
): Promise<readonly SheetCard[]> {
  // Hashes of rows are hashes.
  const cards = await issuer.cards(rows.map(({ hash }) => hash as SimCard['imsi']))
  const labels = new Map<string, string | undefined>(cards.map(({ imsi, label }) => [imsi, label]))
  return rows.map((row) => ({
    activationCode: activationOf(vault, row),
    label: labels.get(row.hash) ?? 'eSIM',
    iccidLast4: row.iccid_last4,
    isConfirmed: row.confirmation_sealed !== null,
    expires: timestampFromMs(row.expires_at_ms).slice(0, DATE),
  }))
}
