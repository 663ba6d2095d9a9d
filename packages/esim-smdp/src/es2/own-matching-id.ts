import { Es2Refused } from './refusal.ts'

/** SGP.22 §4.1.1; an activation code has room for more, QR codes are read better with less. */
const MATCHING_ID = /^[A-Z0-9-]{1,64}$/
/** Characters, hyphens apart, that can hold 128 random bits: of ten digits, sixteen, and of digits and letters. */
const ENOUGH: readonly (readonly [RegExp, number])[] = [
  [/^[0-9]*$/, 39],
  [/^[0-9A-F]*$/, 32],
  [/^[0-9A-Z]*$/, 25],
]
/** Random characters of that number have more kinds but once in 10⁹; what is padded or repeated has fewer. */
const LEAST_KINDS = 6

/**
 * Checks a matching id of an order system's own: it is all that keeps a stranger from the profile, unless the order is
 * for one EID. So there must be room for 128 bits in it; whether they are random nobody can see from here.
 * Throws `Es2Refused` (`matching_id_format`, `matching_id_weak`).
 */
export function checkOwnMatchingId(matchingId: string, isLinked: boolean): void {
  if (!MATCHING_ID.test(matchingId)) throw new Es2Refused('matching_id_format')
  if (isLinked) return
  const characters = matchingId.replaceAll('-', '')
  const least = ENOUGH.find(([kind]) => kind.test(characters))?.[1] ?? Number.POSITIVE_INFINITY
  if (characters.length < least || new Set(characters).size < LEAST_KINDS)
    throw new Es2Refused('matching_id_weak')
}
