import {
  BATCH_ID_PATTERN,
  type HandoutCodes,
  type ImsiHash,
  type JsonSchema,
  LANGUAGES,
  type Language,
  notFound,
  objectSchema,
  ok,
  PAGE_QUERY,
  type Page,
  pageFrom,
  pageSchema,
  type Reply,
  type Request,
  type Route,
  recordSchema,
  route,
  type SimCard,
  simLabels,
  timestampFromMs,
  validationFailed,
} from '@steeple/contracts'
import { activationOf, qrText } from '../codes/activation.ts'
import { closedConflict, esimCodeConflict, esimCodeNotFound, needEnabled } from '../codes/conflict.ts'
import { CODE_SCHEMA, codeRecord } from '../codes/record.ts'
import { ESIM_CODE } from '../codes/restored.ts'
import {
  PER_PAGE,
  printedCode,
  SHEET_FOOT,
  SHEET_POLICY,
  type SheetCard,
  sheetHead,
  sheetPage,
} from '../codes/sheet.ts'
import type { EsimParts } from '../parts.ts'
import { noteCancel } from '../providers/cancels.ts'
import { move, termsNow } from '../states/move.ts'
import {
  AT_ONCE,
  type CodeFilter,
  type CodePosition,
  codesOfSims,
  heldOfCodes,
  listCodes,
} from '../store/code-queries.ts'
import { PROVIDED, type ProvidedRow, providedOf } from '../store/provider-store.ts'
import { CODE_STATES, CODES, type CodeRow, type HeldRow } from '../store/rows.ts'
import { usableOf, usableRows } from './usable-rows.ts'

interface SheetQuery {
  readonly batch: string
  readonly language?: Language
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
      'A page of HTML that loads nothing: the codes of a batch that can still be downloaded, ten cards on an A4 page, with cut marks. In English unless you name another `language`.',
    schema: {
      query: objectSchema(
        { batch: { type: 'string', pattern: BATCH_ID_PATTERN }, language: { enum: LANGUAGES } },
        ['batch'],
      ),
    },
    produces: ['text/html'],
    errors: ['validation_failed', 'esim_disabled', 'not_found', 'store_corrupt'],
    handle: async ({ query: { batch, language = 'en' } }) => {
      const pages = pagesOf(parts, batch, language)
      const first = await pages.next()
      if (first.done === true) {
        needEnabled(parts)
        throw notFound(`code of batch ${batch} that could be printed; issue codes for it first`)
      }
      return {
        headers: {
          'content-type': 'text/html; charset=utf-8',
          'content-security-policy': SHEET_POLICY,
          'cache-control': 'no-store',
        },
        stream: sheet(sheetHead(batch, language) + first.value, pages),
      }
    },
  })
}

async function* sheet(first: string, rest: AsyncGenerator<string>): AsyncGenerator<string> {
  yield first
  yield* rest
  yield SHEET_FOOT
}

async function* pagesOf(
  parts: EsimParts,
  batch: string,
  language: Language,
): AsyncGenerator<string, undefined> {
  for await (const rows of usableRows(parts, batch, PER_PAGE))
    yield await sheetPage(await cardsOf(parts, rows), language)
  return undefined
}

/** What of a code is printed. */
function printedOf({ vault }: EsimParts, row: CodeRow): Omit<SheetCard, 'label' | 'iccidLast4'> {
  return {
    activationCode: activationOf(vault, row),
    isConfirmed: row.confirmation_sealed !== null,
    expires: timestampFromMs(row.expires_at_ms).slice(0, DATE),
  }
}

/** The codes of SIMs for handouts of others; while eSIM is off those of providers alone. */
export function handoutCodes(parts: EsimParts): HandoutCodes {
  const { context } = parts
  return {
    printed: async (imsis, language) => {
      const rows = await codesOfSims(context.db, imsis)
      const open = await usableOf(
        parts,
        rows.filter(({ state }) => state === 'released'),
      )
      const printed = open.map(
        async (row) =>
          // A hash of a row is one.
          [row.hash as ImsiHash, await printedCode(printedOf(parts, row), language)] as const,
      )
      return new Map(await Promise.all(printed))
    },
  }
}

async function cardsOf(parts: EsimParts, rows: readonly CodeRow[]): Promise<readonly SheetCard[]> {
  // Hashes of rows are hashes.
  const cards = await parts.issuer.cards(rows.map(({ hash }) => hash as SimCard['imsi']))
  const labels = new Map<string, string | undefined>(cards.map(({ imsi, label }) => [imsi, label]))
  return rows.map((row) => ({
    ...printedOf(parts, row),
    label: labels.get(row.hash) ?? 'eSIM',
    iccidLast4: row.iccid_last4,
  }))
}

const TYPES = ['image/svg+xml', 'image/png', 'application/json'] as const

/** `GET /v1/esim/codes/{token}/qr` */
export function qrRoute(parts: EsimParts): Route {
  return route<TokenParams, unknown, unknown>({
    method: 'GET',
    path: '/v1/esim/codes/:token/qr',
    role: 'sim:issuer',
    summary: 'Get the QR code of an activation code',
    description: 'SVG, PNG or JSON, as Accept asks. Anyone who sees it can download the profile.',
    schema: {
      params: TOKEN_PARAMS,
      response: objectSchema(
        {
          token: { type: 'string' },
          activation_code: { type: 'string' },
          qr_text: { type: 'string' },
          confirmation_code: {
            type: ['string', 'null'],
            description: 'Of a provider: tell it by another way than the code. Absent for codes of this box.',
          },
        },
        ['token', 'activation_code', 'qr_text'],
      ),
    },
    produces: [...TYPES],
    errors: [
      'validation_failed',
      'esim_disabled',
      'esim_code_not_found',
      'esim_code_conflict',
      'store_corrupt',
    ],
    handle: (request) => qr(parts, request.params.token, request.header('accept')),
  })
}

async function qr(parts: EsimParts, token: string, accept: string | undefined): Promise<Reply> {
  const type = mediaTypeFor(accept, TYPES)
  if (type === undefined) throw validationFailed(`Accept asks for none of ${TYPES.join(', ')}`)
  const provided = await PROVIDED.find(parts.context.db, { token })
  if (provided === undefined) needEnabled(parts)
  const row = await codeBy(parts, token)
  if (row.state === 'revoked' || row.state === 'expired' || row.state === 'error')
    throw esimCodeConflict(`the code ${token} is ${row.state}; issue another one`)
  if (row.state === 'allocated' || row.state === 'confirmed')
    throw esimCodeConflict(
      provided === undefined
        ? `the code ${token} is an order that is not released yet; the order system must release it`
        : `the code ${token} has not come from the provider ${provided.provider} yet; import it, or order it`,
    )
  if ((await parts.closed.among(ESIM_CODE, [token])).has(token)) throw closedConflict(row)
  const activation = activationOf(parts.vault, row)
  const text = qrText(activation)
  const headers = { 'content-type': type, 'cache-control': 'no-store', vary: 'accept' }
  if (type === 'application/json')
    return {
      headers,
      body: {
        token,
        activation_code: activation,
        qr_text: text,
        ...(provided !== undefined && { confirmation_code: confirmationOf(parts, provided) }),
      },
    }
  const { qrPng, qrSvg } = await import('../codes/qr.ts')
  return { headers, body: type === 'image/png' ? await qrPng(text) : await qrSvg(text) }
}

/**
 * Which of some media types an `Accept` header asks for most; the first of them for none, and of those alike. Undefined when
 * it takes none of them. RFC 9110 §12.5.1.
 */
export function mediaTypeFor<Type extends string>(
  accept: string | undefined,
  types: readonly Type[],
): Type | undefined {
  if (accept === undefined || accept.trim() === '') return types[0]
  const ranges = accept.split(',').map(rangeOf)
  let best: { readonly type: Type; readonly weight: number } | undefined
  for (const type of types) {
    const weight = weightOf(type, ranges)
    if (weight > (best?.weight ?? 0)) best = { type, weight }
  }
  return best?.type
}

interface Range {
  readonly name: string
  readonly weight: number
}

function rangeOf(text: string): Range {
  const [name = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase())
  const quality = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2)
  const weight = quality === undefined ? 1 : Number(quality)
  return { name, weight: weight >= 0 && weight <= 1 ? weight : 0 }
}

/** The most exact range that fits says it. */
function weightOf(type: string, ranges: readonly Range[]): number {
  const [kind = ''] = type.split('/')
  for (const name of [type, `${kind}/*`, '*/*']) {
    const found = ranges.find((range) => range.name === name)
    if (found !== undefined) return found.weight
  }
  return 0
}

/**
 * Ends a code. What its eUICC holds stays there, and the SIM is what it was.
 * Throws `esim_code_not_found`, `store_corrupt`.
 */
async function revokeCode(
  parts: EsimParts,
  request: Request<unknown, unknown, { readonly token: string }>,
): Promise<Reply> {
  const { token } = request.body
  return await request.mutate(token, async (tx) => {
    const before = await CODES.find(tx, { token })
    if (before === undefined) throw esimCodeNotFound(token)
    const [held] = await heldOfCodes(tx, [token])
    const after = move(before, { kind: 'revoke' }, termsNow(parts)).row
    const provided = await noteCancel(parts, tx, before)
    if (after !== before) await CODES.put(tx, after)
    const isHeld = held !== undefined && held.state !== 'deleted'
    tx.audit({ detail: { imsi_sha256_12: before.hash, from: before.state, is_delivered: isHeld } })
    tx.event({ type: 'esim.revoke', subject: token, data: { from: before.state } })
    const labels = await simLabels(parts.context, [before.hash])
    return { body: codeRecord(after, held, { closed: new Set(), provided, labels }) }
  })
}

/** The parameter of the routes of one code. */
interface TokenParams {
  readonly token: string
}

const TOKEN: JsonSchema = { type: 'string', pattern: '^e-[0-9a-z]{1,62}$' }
/** Schema of the parameter `{token}`. */
const TOKEN_PARAMS: JsonSchema = recordSchema({ token: TOKEN })

const FILTER: Readonly<Record<string, JsonSchema>> = {
  state: { type: 'string', enum: CODE_STATES },
  batch_id: { type: 'string', pattern: '^[a-z0-9-]{1,64}$' },
  imsi: { type: 'string', pattern: '^[0-9a-f]{12}$', description: 'The hash of a SIM.' },
}

/** The list of codes, one code, and its end. */
export function codeRoutes(parts: EsimParts): readonly Route[] {
  return [
    route<unknown, CodeFilter, unknown>({
      method: 'GET',
      path: '/v1/esim/codes',
      role: 'sim:issuer',
      summary: 'List the activation codes, newest first',
      description:
        'State of each code and of its download. The matching id is shown when a code is issued and in its QR code alone.',
      schema: {
        query: objectSchema({ ...PAGE_QUERY, ...FILTER }),
        response: pageSchema('codes', CODE_SCHEMA),
      },
      errors: ['validation_failed', 'store_corrupt'],
      paged: true,
      handle: async (request) => ok(await codePage(parts, request.query, request.page())),
    }),
    route<TokenParams, unknown, unknown>({
      method: 'GET',
      path: '/v1/esim/codes/:token',
      role: 'sim:issuer',
      summary: 'Show an activation code',
      description: "As in the list. The token is the code's own id, not its matching id.",
      schema: { params: TOKEN_PARAMS, response: CODE_SCHEMA },
      errors: ['esim_code_not_found', 'store_corrupt'],
      handle: async (request) => {
        const row = await codeBy(parts, request.params.token)
        const held = await heldOfCodes(parts.context.db, [row.token])
        const closed = await parts.closed.among(ESIM_CODE, [row.token])
        const provided = await PROVIDED.find(parts.context.db, { token: row.token })
        const labels = await simLabels(parts.context, [row.hash])
        return ok(codeRecord(row, held[0], { closed, provided, labels }))
      },
    }),
    route<unknown, unknown, TokenParams>({
      method: 'POST',
      path: '/v1/esim/revoke',
      role: 'sim:issuer',
      summary: 'Revoke an activation code',
      description:
        'Nobody can download by it any more. Repeating it changes nothing. A profile that was delivered stays on the phone and ' +
        'the SIM stays what it is: suspend or revoke the SIM to cut it off.',
      example: { token: 'e-0123456789abcdefghjk' },
      schema: { body: recordSchema({ token: TOKEN }), response: CODE_SCHEMA },
      errors: ['esim_code_not_found', 'store_corrupt'],
      audit: 'esim.revoke',
      handle: (request) => revokeCode(parts, request),
    }),
  ]
}

/** What a provider's code asks for; null: nothing, or the provider told it to somebody else. Throws `store_corrupt`. */
function confirmationOf({ vault }: EsimParts, { token, confirmation_sealed }: ProvidedRow): string | null {
  if (confirmation_sealed === null) return null
  return Buffer.from(vault.open(confirmation_sealed, `esim_smdp_provided/${token}`)).toString('latin1')
}

/** A code by its token. Throws `esim_code_not_found`, `store_corrupt`. */
async function codeBy({ context }: EsimParts, token: string): Promise<CodeRow> {
  const row = await CODES.find(context.db, { token })
  if (row === undefined) throw esimCodeNotFound(token)
  return row
}

async function codePage(
  { context, closed: items }: EsimParts,
  filter: CodeFilter,
  page: Page,
): Promise<object> {
  const rows = await listCodes(context.db, filter, page.limit + 1, positionFrom(page.after))
  const tokens = rows.map(({ token }) => token)
  const held = new Map<string, HeldRow>()
  for (let at = 0; at < tokens.length; at += AT_ONCE)
    for (const one of await heldOfCodes(context.db, tokens.slice(at, at + AT_ONCE))) held.set(one.token, one)
  const closed = await items.among(ESIM_CODE, tokens)
  const provided = await providedOf(context.db, tokens)
  const labels = await simLabels(
    context,
    rows.map(({ hash }) => hash),
  )
  const record = (row: CodeRow): object =>
    codeRecord(row, held.get(row.token), { closed, provided: provided.get(row.token), labels })
  return pageFrom(page, 'codes', rows, record, (row) => [row.created_at_ms, row.token])
}

function positionFrom(after: Page['after']): CodePosition | undefined {
  if (after === undefined) return undefined
  return { createdAtMs: Number(after[0]), token: String(after[1]) }
}
