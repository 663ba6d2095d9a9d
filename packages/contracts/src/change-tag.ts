import { hash } from 'node:crypto'
import { staleChange } from './error-catalogue.ts'

/** Characters of base64url of a hash: 132 bits of it. */
const HASH_LENGTH = 22

/**
 * The entity tag of an answer that people change: of what of it can be changed, and behind a dot of all that it says. `part` and `whole` are
 * JSON. Whoever read it may be refused by `refuseStale` for the part alone, and never for a counter that has moved on. Source: RFC 9110 §8.8.3.
 */
export function changeTag(part: unknown, whole: unknown): string {
  return `"${hashOf(part)}.${hashOf(whole)}"`
}

/**
 * Refuses a change of `what` (`the SIM 0123456789ab`) whose `If-Match` names another part than what is there now, for the handler of a
 * `guarded` route, within its transaction. Without the header everything goes. Throws `stale_change`. Source: RFC 9110 §13.1.1.
 */
export function refuseStale(ifMatch: string | undefined, part: unknown, what: string): void {
  if (ifMatch === undefined) return
  const own = hashOf(part)
  const isNamed = namesTag(ifMatch, (tag) => tag.split('.', 1)[0] === own)
  if (!isNamed) throw staleChange(what)
}

/**
 * Whether an `If-Match` header names what is there: `*` names anything, any other entry what `isThere` says of its tag, without quotes. Weak
 * tags count too. Source: RFC 9110 §13.1.1.
 */
export function namesTag(ifMatch: string, isThere: (tag: string) => boolean): boolean {
  return ifMatch.split(',').some((entry) => {
    const tag = entry.trim()
    return tag === '*' || isThere(tag.replace(/^W\//, '').replace(/^"(.*)"$/, '$1'))
  })
}

function hashOf(value: unknown): string {
  return hash('sha256', JSON.stringify(value) ?? '', 'base64url').slice(0, HASH_LENGTH)
}
