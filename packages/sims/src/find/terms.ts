import { validationFailed } from '@steeple/contracts'
import { ICCID_END } from '../secrets/iccid-mac.ts'
import { type Searched, wordsOf } from './words.ts'

/** Digits of a whole IMSI or ICCID; a search that is part of an address takes fewer. TS 23.003 §2.2, ITU-T E.118. */
const WHOLE_IDENTIFIER = 14
const HASH_START = /^[0-9a-f]{1,12}$/
const DIGITS = /^[0-9]+$/

/**
 * The words of a search, each of which a SIM must match. Throws `validation_failed` for a text without letter or digit,
 * and for one that holds a whole IMSI or ICCID: it has been in an address.
 */
export function termsOf(text: string): readonly string[] {
  const terms = wordsOf(text)
  const fail = (message: string): Error =>
    validationFailed(`/q ${message}`, { details: [{ pointer: '/q', message }] })
  if (terms.length === 0) throw fail('holds neither a letter nor a digit')
  if (terms.some((term) => DIGITS.test(term) && term.length >= WHOLE_IDENTIFIER))
    throw fail(
      'takes the last digits alone; whole IMSIs, ICCIDs and numbers go in the body of POST /v1/sims/find',
    )
  return terms
}

/** Whether a term could be the beginning of a hash. */
export function isHashStart(term: string): boolean {
  return HASH_START.test(term)
}

/** Whether a term could be the end of an ICCID or an MSISDN. */
export function isDigits(term: string): boolean {
  return DIGITS.test(term)
}

/** The last four digits of every ICCID that could end with these digits. */
export function iccidEnds(digits: string): readonly string[] {
  if (digits.length >= ICCID_END) return [digits.slice(-ICCID_END)]
  const open = ICCID_END - digits.length
  return Array.from({ length: 10 ** open }, (_, i) => String(i).padStart(open, '0') + digits)
}

/** The hashes of those whose ICCID ends with a term of more digits than are stored in clear, by term. */
export type LongEnds = ReadonlyMap<string, ReadonlySet<string>>

/** Whether a SIM matches every term: hash or a word of its label begin with it, ICCID or MSISDN end with it. */
export function isMatch(sim: Searched, terms: readonly string[], longEnds: LongEnds): boolean {
  const words = sim.label === null ? [] : wordsOf(sim.label)
  return terms.every(
    (term) =>
      sim.hash.startsWith(term) ||
      words.some((word) => word.startsWith(term)) ||
      (isDigits(term) && (sim.msisdn?.endsWith(term) === true || endsIccid(sim, term, longEnds))),
  )
}

function endsIccid(sim: Searched, digits: string, longEnds: LongEnds): boolean {
  if (digits.length > ICCID_END) return longEnds.get(digits)?.has(sim.hash) === true
  return sim.iccid_last4?.endsWith(digits) === true
}
