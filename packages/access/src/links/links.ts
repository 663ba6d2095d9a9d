import { randomBytes, randomUUID } from 'node:crypto'
import {
  type Clock,
  defineError,
  type ErrorFactory,
  type Principal,
  type Reader,
  type Role,
  type Tx,
} from '@steeple/contracts'
import { tokenSha256 } from '../authenticator.ts'
import { sourceOf } from '../derived/parent.ts'
import { sourceNow } from '../derived/source.ts'
import { findLink, insertLink, type LinkRow } from './link-store.ts'

/** A link that opens the console as who made it, once. */
interface Link {
  readonly id: string
  /** What stands behind # in the link. Shown once; its SHA-256 alone is kept. */
  readonly token: string
  readonly expiresAtMs: number
  /** Stores it; without that it opens nothing. */
  store(tx: Tx): Promise<void>
}

/** A link that is good still. */
interface OpenLink {
  readonly id: string
  /** Who made it, as they are now. */
  readonly maker: Principal
  /** The credential that what it opens ends with: see `derived/source.ts`. */
  readonly source: string
}

/** The links in the store: they open at any instance, and end with the credential that they were made with. */
export interface Links {
  /** Draws a link that opens what its maker may do. */
  draw(maker: Principal): Link
  /** Who made a link; undefined when it is unknown, used or over, or its credential has ended. */
  find(reader: Reader, token: string): Promise<OpenLink | undefined>
}

/** One answer for an unknown, used and expired link. */
export const linkInvalid: ErrorFactory = defineError(
  'link_invalid',
  401,
  'the link is unknown, used, older than five minutes, or of a login that has ended; make another one',
)

/** The form of a link's token. */
export const LINK_PATTERN = '^svcl_[A-Za-z0-9_-]{43}$'

/** Long enough to click, too short to be found lying about. */
const LIFE_MS = 300_000
const SECRET_BYTES = 32

/** Links over the store. `environment`: see `environmentPrint`. */
export function createLinks(clock: Pick<Clock, 'nowMs'>, environment: string): Links {
  return {
    draw: (maker) => {
      const token = `svcl_${randomBytes(SECRET_BYTES).toString('base64url')}`
      const nowMs = clock.nowMs()
      const { kind, id, name, roles, expiresAtMs = Number.POSITIVE_INFINITY } = maker
      const row: LinkRow = {
        id: randomUUID(),
        token_sha256: tokenSha256(token),
        maker: JSON.stringify({ kind, id, name, roles: [...roles] }),
        parent: sourceOf(maker, environment),
        created_at_ms: nowMs,
        expires_at_ms: Math.min(nowMs + LIFE_MS, expiresAtMs),
      }
      return { id: row.id, token, expiresAtMs: row.expires_at_ms, store: (tx) => insertLink(tx, row) }
    },
    find: async (reader, token) => {
      const row = await findLink(reader, tokenSha256(token))
      const nowMs = clock.nowMs()
      if (row === undefined || row.expires_at_ms <= nowMs) return undefined
      const maker = await sourceNow({ reader, nowMs, environment }, row.parent, makerOf(row))
      return maker === undefined ? undefined : { id: row.id, maker, source: row.parent }
    },
  }
}

/** Who made a link, as they were then. */
export function makerOf({ maker }: LinkRow): Principal {
  // Written by `draw` alone, and its row is checksummed.
  const { roles, ...who } = JSON.parse(maker) as Omit<Principal, 'roles'> & {
    readonly roles: readonly Role[]
  }
  return { ...who, roles: new Set(roles) }
}
