import type { Clock, Db, NodeCa } from '@steeple/contracts'
import type { Changes } from './changes.ts'
import { countUp, liveCertificates } from './store.ts'

/** How long a list says that it holds: members that cannot reach anybody who has a newer one go by theirs all the same. */
const VALID_MS = 7 * 86_400_000
/** How old a list may be that is given out. */
const FRESH_MS = 86_400_000

/** A signed list of revoked certificates. `number` grows from list to list. */
export interface SignedList {
  readonly number: number
  readonly pem: string
}

/** The revoked certificates of this node's own CA, signed. */
export interface RevocationList {
  /** One that holds everything that is committed. Signed anew after each revocation, each day, after a start, and where this node moves. */
  current(): Promise<SignedList>
}

/** Keeps the signed list in memory. `changes`: told after each revocation. */
export function revocationList(options: {
  readonly db: Db
  readonly clock: Clock
  readonly authority: NodeCa
  readonly changes: Changes
  /** Where this node answers now; undefined where others do not reach it. */
  readonly url: () => string | undefined
}): RevocationList {
  const { db, clock, authority, changes } = options
  let made:
    | { readonly atMs: number; readonly url: string | undefined; readonly list: Promise<SignedList> }
    | undefined
  changes.listen(() => {
    made = undefined
  })
  const sign = async (nowMs: number, url: string | undefined): Promise<SignedList> => {
    const { number, rows } = await db.write(async (tx) => ({
      rows: await liveCertificates(tx, nowMs),
      // At least the time: a root that was restored from an old backup has counted fewer than its members know.
      number: await countUp(tx, 'crl_number', Math.floor(nowMs / 1_000)),
    }))
    const list = rows.flatMap(({ serial, revoked_at_ms }) =>
      revoked_at_ms === null ? [] : [{ serial, revokedAtMs: revoked_at_ms }],
    )
    const pem = await authority.signRevocations(list, {
      number,
      thisUpdateMs: nowMs,
      nextUpdateMs: nowMs + VALID_MS,
      ...(url === undefined ? {} : { url }),
    })
    return { number, pem }
  }
  return {
    current: () => {
      const nowMs = clock.nowMs()
      const url = options.url()
      if (made === undefined || made.url !== url || Math.abs(nowMs - made.atMs) > FRESH_MS) {
        const next = { atMs: nowMs, url, list: sign(nowMs, url) }
        made = next
        next.list.catch(() => {
          if (made === next) made = undefined
        })
      }
      return made.list
    },
  }
}
