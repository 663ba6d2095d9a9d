import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto'
import type { SessionKeys } from '@steeple/contracts'

/** Which exchange of which session a refresh token is for. */
interface RefreshClaim {
  readonly sessionId: string
  readonly generation: number
}

/**
 * Refresh tokens: the session, the number of the exchange, and an HMAC over both.
 *
 * Nothing of them is stored. A token of an earlier exchange is told from a forgery by its HMAC alone, however old it
 * is: only who once had it can end the session with it.
 */
export interface RefreshTokens {
  make(claim: RefreshClaim): string
  /** Undefined for what was never made here. */
  read(token: string): RefreshClaim | undefined
}

const ID_BYTES = 16
const GENERATION_BYTES = 4
const MAC_BYTES = 32
const FORM = /^svcr_([\w-]{70})$/

/** Opens the key of refresh tokens. */
export function createRefreshTokens(keys: SessionKeys): RefreshTokens {
  const bytes = Buffer.from(keys.derive('refresh token'))
  const key = createSecretKey(bytes)
  bytes.fill(0)
  const macOf = (head: Uint8Array): Buffer => createHmac('sha256', key).update(head).digest()
  return {
    make: ({ sessionId, generation }) => {
      const head = Buffer.alloc(ID_BYTES + GENERATION_BYTES)
      head.write(sessionId.replaceAll('-', ''), 'hex')
      head.writeUInt32BE(generation, ID_BYTES)
      return `svcr_${Buffer.concat([head, macOf(head)]).toString('base64url')}`
    },
    read: (token) => {
      const [, text] = FORM.exec(token) ?? []
      if (text === undefined) return undefined
      const octets = Buffer.from(text, 'base64url')
      const head = octets.subarray(0, ID_BYTES + GENERATION_BYTES)
      const mac = octets.subarray(head.length)
      // The last character holds fewer bits than it could: one token has one spelling.
      if (mac.length !== MAC_BYTES || octets.toString('base64url') !== text) return undefined
      if (!timingSafeEqual(mac, macOf(head))) return undefined
      return {
        sessionId: uuidFrom(head.toString('hex', 0, ID_BYTES)),
        generation: head.readUInt32BE(ID_BYTES),
      }
    },
  }
}

function uuidFrom(hex: string): string {
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
