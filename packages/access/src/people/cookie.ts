import type { Request } from '@steeple/contracts'

const NAME = 'svc_refresh'
/** The routes that take it; no other request carries it. */
const PATH = '/v1/auth'

/**
 * The `Set-Cookie` of a refresh token, or the one that takes it away. RFC 6265 §5.
 *
 * No script reads it, no page of another site sends it, and over TLS it goes nowhere else.
 */
export function refreshCookie(token: string, livesMs: number, isSecure: boolean): string {
  const age = Math.max(0, Math.floor(livesMs / 1_000))
  const parts = [`${NAME}=${token}`, `Path=${PATH}`, 'HttpOnly', 'SameSite=Strict', `Max-Age=${age}`]
  return [...parts, ...(isSecure ? ['Secure'] : [])].join('; ')
}

/** The refresh token that a request carries. */
export function refreshTokenOf(request: Pick<Request, 'header'>): string | undefined {
  for (const pair of (request.header('cookie') ?? '').split(';')) {
    const [name, value] = pair.split('=', 2)
    if (name?.trim() === NAME) return value?.trim()
  }
  return undefined
}
