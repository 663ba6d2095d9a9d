import {
  type JsonSchema,
  NULLABLE_TIMESTAMP_SCHEMA,
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
  simLabels,
  TIMESTAMP_SCHEMA,
  timestampFromMs,
  timestampOrNull,
  validationFailed,
} from '@steeple/contracts'
import { activationOf, qrText } from '../codes/activation.ts'
import { closedConflict, esimCodeConflict, esimCodeNotFound, needEnabled } from '../codes/conflict.ts'
import { ESIM_CODE } from '../codes/restored.ts'
import type { EsimParts } from '../parts.ts'
import { noteCancel } from '../providers/cancels.ts'
import { move, termsNow } from '../states/move.ts'
import {
  type CodeFilter,
  type CodePosition,
  heldOfCodes,
  listCodes,
  OPEN_STATES,
} from '../store/code-queries.ts'
import { PROVIDED, type ProvidedRow, providedOf } from '../store/provider-store.ts'
import { CODE_STATES, CODES, type CodeRow, type HeldRow } from '../store/rows.ts'

const TYPES = ['image/svg+xml', 'image/png', 'application/json'] as const

/** `GET /v1/esim/codes/{token}/qr` */
function qrRoute(parts: EsimParts): Route {
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
        const record = await recordsOf(parts, [row])
        return ok(record(row))
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
    qrRoute(parts),
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

async function codePage(parts: EsimParts, filter: CodeFilter, page: Page): Promise<object> {
  const rows = await listCodes(parts.context.db, filter, page.limit + 1, positionFrom(page.after))
  const record = await recordsOf(parts, rows)
  return pageFrom(page, 'codes', rows, record, (row) => [row.created_at_ms, row.token])
}

/** Reads what is known of some codes beside their rows, and gives what makes the record of each. */
async function recordsOf(
  { context, closed: items }: EsimParts,
  rows: readonly CodeRow[],
): Promise<(row: CodeRow) => object> {
  const tokens = rows.map(({ token }) => token)
  const held = new Map((await heldOfCodes(context.db, tokens)).map((one) => [one.token, one]))
  const closed = await items.among(ESIM_CODE, tokens)
  const provided = await providedOf(context.db, tokens)
  const labels = await simLabels(
    context,
    rows.map(({ hash }) => hash),
  )
  return (row) => codeRecord(row, held.get(row.token), { closed, provided: provided.get(row.token), labels })
}

function positionFrom(after: Page['after']): CodePosition | undefined {
  if (after === undefined) return undefined
  return { createdAtMs: Number(after[0]), token: String(after[1]) }
}

const NULLABLE_TEXT: JsonSchema = { type: ['string', 'null'] }

const PROFILE: JsonSchema = {
  ...recordSchema({
    state: {
      type: 'string',
      description: 'delivered, installed, enabled, disabled, deleted or failed; more may come.',
    },
    eid_last4: { type: 'string' },
    installed_at: NULLABLE_TIMESTAMP_SCHEMA,
    deleted_at: NULLABLE_TIMESTAMP_SCHEMA,
  }),
  type: ['object', 'null'],
  description: 'Where its profile is, as far as the eUICC has told; null: nowhere.',
}

const PROPERTIES: Readonly<Record<string, JsonSchema>> = {
  token: { type: 'string', description: "The code's own id. It is no secret." },
  imsi_sha256_12: { type: 'string' },
  label: { ...NULLABLE_TEXT, description: 'What its SIM is called.' },
  state: {
    type: 'string',
    description: 'released, downloaded, installed, error, revoked or expired; more may come.',
  },
  created_at: TIMESTAMP_SCHEMA,
  expires_at: TIMESTAMP_SCHEMA,
  downloads: { type: 'integer', description: 'How often the profile was delivered.' },
  attempts: { type: 'integer', description: 'How often a phone has asked for it.' },
  confirmation_attempts: { type: 'integer', description: 'How often with a wrong confirmation code.' },
  eid_last4: { ...NULLABLE_TEXT, description: 'End of the EID of the only eUICC that gets it.' },
  iccid_last4: { type: 'string' },
  confirmation_required: { type: 'boolean' },
  single_use: { type: 'boolean' },
  closed: {
    type: 'boolean',
    description: 'By a restore: nobody gets the profile by it until it is reopened.',
  },
  batch_id: NULLABLE_TEXT,
  last_error: NULLABLE_TEXT,
  profile: PROFILE,
  provider: {
    ...NULLABLE_TEXT,
    description: 'The id of the provider that delivers it; null: this SM-DP+ does.',
  },
  provider_cancel: {
    ...NULLABLE_TEXT,
    description:
      'Whether the provider knows that it is revoked: due, done, refused, or by_hand (tell it yourself); null: nothing to tell.',
  },
}

const CODE_SCHEMA: JsonSchema = recordSchema(PROPERTIES)

/** A code as answered: neither its matching id nor its confirmation code. `held`: where its profile is. */
function codeRecord(
  row: CodeRow,
  held: HeldRow | undefined,
  {
    closed,
    provided,
    labels,
  }: {
    readonly closed: ReadonlySet<string>
    readonly provided: ProvidedRow | undefined
    readonly labels: ReadonlyMap<string, string>
  },
): Readonly<Record<string, unknown>> {
  return {
    token: row.token,
    imsi_sha256_12: row.hash,
    label: labels.get(row.hash) ?? null,
    state: row.state,
    created_at: timestampFromMs(row.created_at_ms),
    expires_at: timestampFromMs(row.expires_at_ms),
    downloads: row.downloads,
    attempts: row.attempts,
    confirmation_attempts: row.confirmation_attempts,
    eid_last4: row.eid_last4,
    iccid_last4: row.iccid_last4,
    confirmation_required: row.confirmation_sealed !== null,
    single_use: row.single_use === 1,
    closed: OPEN_STATES.includes(row.state) && closed.has(row.token),
    batch_id: row.batch_id,
    last_error: row.last_error,
    provider: provided?.provider ?? null,
    provider_cancel: provided === undefined || provided.cancel === 'none' ? null : provided.cancel,
    profile:
      held === undefined
        ? null
        : {
            state: held.state,
            eid_last4: row.eid_last4 ?? '',
            installed_at: timestampOrNull(held.installed_at_ms),
            deleted_at: timestampOrNull(held.deleted_at_ms),
          },
  }
}
