import { createHash, randomUUID, webcrypto } from 'node:crypto'
import { type Role, type SessionKeys, tokenExpired } from '@steeple/contracts'
import { errors, jwtVerify, SignJWT } from 'jose'

/** Contract section 1: how long a JWT is good, ms. */
export const JWT_LIFE_MS = 900_000

/** What a JWT of ours says, once its signature is checked. */
interface JwtClaims {
  readonly userId: string
  readonly sessionId: string
  readonly expiresAtMs: number
}

/** Signs and checks the JWT of sessions: HS256. RFC 7519, RFC 7515. */
export interface Jwts {
  sign(claims: JwtClaims, roles: readonly Role[], nowMs: number): Promise<string>
  /**
   * What a token says; undefined when it is none of ours. Throws `token_expired`.
   *
   * The signature of a token is checked once: what it says cannot change, only whether it still holds.
   */
  read(token: string, nowMs: number): Promise<JwtClaims | undefined>
}

/** Three parts in base64url, the first of which begins with `{"`. RFC 7515 §3.1. */
const FORM = /^eyJ[\w-]{2,512}\.[\w-]{2,2048}\.[\w-]{43}$/
/** Only tokens that were signed here get in. */
const MAX_KNOWN = 10_000
const ALGORITHM = { name: 'HMAC', hash: 'SHA-256' }

/** Opens the key for JWT. `issuer` is the node: another one's tokens are not taken, even under the same key. */
export function createJwts(keys: SessionKeys, issuer: string): Jwts {
  const bytes = Buffer.from(keys.derive('session jwt'))
  let imported: Promise<webcrypto.CryptoKey> | undefined
  // Once somebody has logged in: node loads the whole of its Web Crypto for it.
  const key = (): Promise<webcrypto.CryptoKey> => {
    imported ??= webcrypto.subtle
      .importKey('raw', bytes, ALGORITHM, false, ['sign', 'verify'])
      .finally(() => bytes.fill(0))
    return imported
  }
  const known = new Map<string, JwtClaims>()
  const verified = async (token: string, nowMs: number): Promise<JwtClaims | undefined> => {
    const opened = await key()
    try {
      const { payload, protectedHeader } = await jwtVerify(token, opened, {
        issuer,
        algorithms: ['HS256'],
        typ: 'JWT',
        requiredClaims: ['sub', 'jti', 'sid', 'exp'],
        currentDate: new Date(nowMs),
      })
      const { sub, sid, exp } = payload
      if (protectedHeader.kid !== keys.keyId) return undefined
      if (sub === undefined || typeof sid !== 'string' || exp === undefined) return undefined
      return { userId: sub, sessionId: sid, expiresAtMs: exp * 1_000 }
    } catch (error) {
      // It is thrown behind the check of the signature.
      if (error instanceof errors.JWTExpired) throw tokenExpired()
      return undefined
    }
  }
  return {
    sign: async ({ userId, sessionId, expiresAtMs }, roles, nowMs) =>
      new SignJWT({ roles: [...roles], sid: sessionId })
        .setProtectedHeader({ alg: 'HS256', typ: 'JWT', kid: keys.keyId })
        .setIssuer(issuer)
        .setSubject(userId)
        .setJti(randomUUID())
        .setIssuedAt(Math.floor(nowMs / 1_000))
        .setExpirationTime(Math.floor(expiresAtMs / 1_000))
        .sign(await key()),
    read: async (token, nowMs) => {
      if (!FORM.test(token) || !isOneSpelling(token)) return undefined
      const sha256 = createHash('sha256').update(token).digest('base64url')
      const claims = known.get(sha256) ?? (await verified(token, nowMs))
      if (claims === undefined) return undefined
      if (claims.expiresAtMs <= nowMs) {
        known.delete(sha256)
        throw tokenExpired()
      }
      const oldest = known.keys().next()
      if (known.size >= MAX_KNOWN && oldest.done !== true) known.delete(oldest.value)
      known.set(sha256, claims)
      return claims
    },
  }
}

/** The last character of the signature holds fewer bits than it could: one token has one spelling. */
function isOneSpelling(token: string): boolean {
  const signature = token.slice(token.lastIndexOf('.') + 1)
  return Buffer.from(signature, 'base64url').toString('base64url') === signature
}

/** The session that a bearer credential says it is of; unchecked, for one that the edge has checked. */
export function sessionOfCredential(authorization: string | undefined): string | undefined {
  const [, payload] = /^Bearer +eyJ[\w-]+\.([\w-]+)\.[\w-]+$/i.exec(authorization ?? '') ?? []
  if (payload === undefined) return undefined
  const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString())
  const isObject = typeof claims === 'object' && claims !== null && 'sid' in claims
  return isObject && typeof claims.sid === 'string' ? claims.sid : undefined
}
