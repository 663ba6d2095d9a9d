/** Headers of every answer, without those that depend on the request. Values may be overridden by a reply. */
const COMMON: readonly (readonly [string, string])[] = [
  ['X-Content-Type-Options', 'nosniff'],
  ['Cache-Control', 'no-store'],
  ['Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'"],
  ['Referrer-Policy', 'no-referrer'],
]

/** One year. Only over TLS: RFC 6797 §7.2 forbids it over plaintext. */
const STRICT_TRANSPORT: readonly [string, string] = ['Strict-Transport-Security', 'max-age=31536000']

const OVER_TLS = [...COMMON, STRICT_TRANSPORT]

/** The security headers of a connection, as name and value pairs. */
export function securityHeaders(isTls: boolean): readonly (readonly [string, string])[] {
  return isTls ? OVER_TLS : COMMON
}
