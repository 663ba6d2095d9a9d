import { namesTag } from '@steeple/contracts'

/** The entity tag of a revision: `"7"`. Source: RFC 9110 §8.8.3. */
export function etagOf(revision: number): string {
  return `"${revision}"`
}

/**
 * Whether an `If-Match` header names the revision.
 *
 * `*` names any. Weak tags and bare numbers count too: a revision never has two contents.
 */
export function namesRevision(header: string, revision: number): boolean {
  return namesTag(header, (tag) => tag === String(revision))
}
