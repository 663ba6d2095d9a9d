import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'

/** Contract section 1: 32 random bytes in base64url. */
const SECRET_BYTES = 32
/** Contract section 1: how much of the mesh CA's SHA-256 a bootstrap token carries, in hex characters. */
const CA_PREFIX_LENGTH = 32
const API_TOKEN = /^svc_[A-Za-z0-9_-]{43}$/
const BOOTSTRAP_TOKEN = /^svcb_[0-9a-f]{32}_[A-Za-z0-9_-]{43}$/

/** What a token opens: the routes of its roles, or the enroll route once. */
export type TokenKind = 'api' | 'bootstrap'

/** A new token: `svc_<secret>`, or `svcb_<CA hash>_<secret>` so that the joining node can check the server first. */
export function newToken(kind: TokenKind, caSha256: string): string {
  const secret = randomBytes(SECRET_BYTES).toString('base64url')
  return kind === 'api' ? `svc_${secret}` : `svcb_${caSha256.slice(0, CA_PREFIX_LENGTH)}_${secret}`
}

/** The kind that a text has the form of; undefined when it is no token of ours. */
export function tokenKindOf(text: string): TokenKind | undefined {
  if (API_TOKEN.test(text)) return 'api'
  return BOOTSTRAP_TOKEN.test(text) ? 'bootstrap' : undefined
}

/** SHA-256 of the whole token as hex: the only form in which a token is kept. */
export function tokenSha256(token: string): string {
  return createHash('sha256').update(token).digest('hex')
}

/** Compares two SHA-256 in hex without telling by its time where they differ. */
export function isSameSha256(left: string, right: string): boolean {
  const [leftBytes, rightBytes] = [Buffer.from(left, 'hex'), Buffer.from(right, 'hex')]
  return leftBytes.length === rightBytes.length && timingSafeEqual(leftBytes, rightBytes)
}
