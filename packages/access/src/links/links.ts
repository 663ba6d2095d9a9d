import { createHash, randomBytes } from 'node:crypto'
import { type Clock, defineError, type ErrorFactory, type Principal } from '@steeple/contracts'

/** A link that opens the console as who made it, once. */
export interface Link {
  /** What stands behind # in the link. Shown once; here its SHA-256 alone is kept. */
  readonly token: string
  readonly expiresAtMs: number
}

/** The links that are good still. They are in memory alone: whoever restarts the service asks for another one. */
export interface Links {
  /** Draws a link that opens what its maker may do. */
  draw(maker: Principal): Link
  /** Uses a link up: who made it; undefined when it is unknown, used or over. */
  take(token: string): Principal | undefined
}

/** One answer for an unknown, used and expired link. */
export const linkInvalid: ErrorFactory = defineError(
  'link_invalid',
  401,
  'the link is unknown, used or older than five minutes; ask for another one',
)

/** The form of a link's token. */
export const LINK_PATTERN = '^svcl_[A-Za-z0-9_-]{43}$'

/** Long enough to click, too short to be found lying about. */
const LIFE_MS = 300_000
const SECRET_BYTES = 32
/** The oldest gives way: who draws links has a credential, and needs one link. */
const MOST_OPEN = 64

/** Links in memory, by the hash of their tokens. */
export function createLinks(clock: Pick<Clock, 'nowMs'>): Links {
  const open = new Map<string, { readonly maker: Principal; readonly expiresAtMs: number }>()
  return {
    draw: (maker) => {
      const token = `svcl_${randomBytes(SECRET_BYTES).toString('base64url')}`
      const expiresAtMs = Math.min(clock.nowMs() + LIFE_MS, maker.expiresAtMs ?? Number.POSITIVE_INFINITY)
      open.set(sha256Of(token), { maker, expiresAtMs })
      for (const oldest of open.keys()) {
        if (open.size <= MOST_OPEN) break
        open.delete(oldest)
      }
      return { token, expiresAtMs }
    },
    take: (token) => {
      const key = sha256Of(token)
      const found = open.get(key)
      open.delete(key)
      return found === undefined || found.expiresAtMs <= clock.nowMs() ? undefined : found.maker
    },
  }
}

function sha256Of(token: string): string {
  return createHash('sha256').update(token).digest('hex')
}
