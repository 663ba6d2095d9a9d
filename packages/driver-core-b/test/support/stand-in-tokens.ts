import { createPublicKey, createSign, createVerify } from 'node:crypto'
import type { StandInAnswer, StandInCore, StandInRequest } from './stand-in-core.ts'

/** A token as the NRF gives it: RS512, scope and expiry are all that a function looks at. */
export function signToken({ key, tokens }: StandInCore, sub: string, scope: string): string {
  const now = Math.floor(Date.now() / 1000)
  const claims = { iss: 'nrf', sub, aud: '', scope, exp: now + 1000, iat: now, jti: String(tokens.length) }
  const text = [{ alg: 'RS512', typ: 'JWT' }, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.')
  const token = `${text}.${createSign('RSA-SHA512').update(text).sign(key).toString('base64url')}`
  tokens.push(token)
  return token
}

/** The 401 of a function for a request without the right token; undefined when it may pass. */
export function refusal(
  core: StandInCore,
  { authorization }: StandInRequest,
  scope: string,
): StandInAnswer | undefined {
  if (!core.behaviour.oauth) return undefined
  if (authorization === undefined) return unauthorized('verify OAuth Authorization header invalid')
  const [head = '', claims = '', signature = ''] = authorization.replace(/^Bearer /, '').split('.')
  const isSigned = createVerify('RSA-SHA512')
    .update(`${head}.${claims}`)
    .verify(createPublicKey(core.key), Buffer.from(signature, 'base64url'))
  if (!isSigned || core.behaviour.distrustsNrf)
    return unauthorized('verify OAuth parse: token signature is invalid: crypto/rsa: verification error')
  const granted = JSON.parse(Buffer.from(claims, 'base64url').toString('utf8'))
  if (granted.exp < Date.now() / 1000)
    return unauthorized('verify OAuth parse: token has invalid claims: token is expired')
  if (!String(granted.scope).split(' ').includes(scope))
    return unauthorized('OAuth scope verification failed: insufficient permissions')
  return undefined
}

function unauthorized(error: string): StandInAnswer {
  return { status: 401, body: JSON.stringify({ error }) }
}

/** gin's answer for a path that it does not have. */
export const NO_ROUTE: StandInAnswer = { status: 404, body: '404 page not found', type: 'text/plain' }
