import { objectSchema, type Reply, type Route, route, validationFailed } from '@steeple/contracts'
import { qrText } from '../codes/activation.ts'
import { closedConflict, esimCodeConflict } from '../codes/conflict.ts'
import { activationOf } from '../codes/matching.ts'
import { needEnabled } from '../codes/ready.ts'
import { ESIM_CODE } from '../codes/restored.ts'
import type { EsimParts } from '../parts.ts'
import { codeBy, TOKEN_PARAMS, type TokenParams } from './code-routes.ts'

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
        { token: { type: 'string' }, activation_code: { type: 'string' }, qr_text: { type: 'string' } },
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
  needEnabled(parts)
  const type = mediaTypeFor(accept, TYPES)
  if (type === undefined) throw validationFailed(`Accept asks for none of ${TYPES.join(', ')}`)
  const row = await codeBy(parts, token)
  if (row.state === 'revoked' || row.state === 'expired' || row.state === 'error')
    throw esimCodeConflict(`the code ${token} is ${row.state}; issue another one`)
  if (row.state === 'allocated' || row.state === 'confirmed')
    throw esimCodeConflict(
      `the code ${token} is an order that is not released yet; the order system must release it`,
    )
  if ((await parts.closed.among(ESIM_CODE, [token])).has(token)) throw closedConflict(row)
  const activation = activationOf(parts.vault, row)
  const text = qrText(activation)
  const headers = { 'content-type': type, 'cache-control': 'no-store', vary: 'accept' }
  if (type === 'application/json')
    return { headers, body: { token, activation_code: activation, qr_text: text } }
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
