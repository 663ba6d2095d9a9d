import { objectSchema, type Reply, type Route, route, validationFailed } from '@steeple/contracts'
import { qrText } from '../codes/activation.ts'
import { closedConflict, esimCodeConflict } from '../codes/conflict.ts'
import { activationOf } from '../codes/matching.ts'
import { needEnabled } from '../codes/ready.ts'
import { ESIM_CODE } from '../codes/restored.ts'
import type { EsimParts } from '../parts.ts'
import { mediaTypeFor } from './accept.ts'
import { codeBy, TOKEN_PARAMS, type TokenParams } from './code-routes.ts'

const TYPES = ['image/svg+xml', 'image/png', 'application/json'] as const

/** `GET /v1/esim/codes/{token}/qr` */
export function qrRoute(parts: EsimParts): Route {
  return route<TokenParams, unknown, unknown>({
    method: 'GET',
    path: '/v1/esim/codes/:token/qr',
    role: 'sim:issuer',
    summary: 'The QR code of an activation code',
    description: 'SVG, PNG or JSON, as Accept asks for. Whoever sees it can download the profile.',
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
      `the code ${token} is an order that is not released yet; whoever ordered it releases it`,
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
