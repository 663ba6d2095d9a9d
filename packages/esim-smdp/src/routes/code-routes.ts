import {
  esimCodeNotFound,
  type JsonSchema,
  objectSchema,
  ok,
  PAGE_QUERY,
  type Page,
  pageSchema,
  type Route,
  route,
} from '@steeple/contracts'
import { CODE_SCHEMA, codeRecord } from '../codes/record.ts'
import { ESIM_CODE } from '../codes/restored.ts'
import { revokeCode } from '../codes/revoke.ts'
import type { EsimParts } from '../parts.ts'
import {
  AT_ONCE,
  CODE_STATES,
  type CodeFilter,
  type CodePosition,
  heldOfCodes,
  listCodes,
} from '../store/code-queries.ts'
import { CODES, type CodeRow, type HeldRow } from '../store/rows.ts'

/** The parameter of the routes of one code. */
export interface TokenParams {
  readonly token: string
}

const TOKEN: JsonSchema = { type: 'string', pattern: '^e-[0-9a-z]{1,62}$' }
/** Schema of the parameter `{token}`. */
export const TOKEN_PARAMS: JsonSchema = objectSchema({ token: TOKEN }, ['token'])

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
        return ok(codeRecord(row, held[0], await parts.closed.among(ESIM_CODE, [row.token])))
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
      schema: { body: objectSchema({ token: TOKEN }, ['token']), response: CODE_SCHEMA },
      errors: ['esim_code_not_found', 'store_corrupt'],
      audit: 'esim.revoke',
      handle: (request) => revokeCode(parts, request),
    }),
  ]
}

/** A code by its token. Throws `esim_code_not_found`, `store_corrupt`. */
export async function codeBy({ context }: EsimParts, token: string): Promise<CodeRow> {
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
  const shown = rows.slice(0, page.limit)
  const held = new Map<string, HeldRow>()
  for (let at = 0; at < shown.length; at += AT_ONCE) {
    const tokens = shown.slice(at, at + AT_ONCE).map(({ token }) => token)
    for (const one of await heldOfCodes(context.db, tokens)) held.set(one.token, one)
  }
  const closed = await items.among(
    ESIM_CODE,
    shown.map(({ token }) => token),
  )
  const last = shown.at(-1)
  const isMore = rows.length > page.limit && last !== undefined
  return {
    codes: shown.map((row) => codeRecord(row, held.get(row.token), closed)),
    next_cursor: isMore ? page.cursor([last.created_at_ms, last.token]) : null,
  }
}

function positionFrom(after: Page['after']): CodePosition | undefined {
  if (after === undefined) return undefined
  return { createdAtMs: Number(after[0]), token: String(after[1]) }
}
