import type { SimRow } from '../store/sim-row.ts'

/** What of a SIM is searched. */
export type Searched = Pick<SimRow, 'hash' | 'label' | 'msisdn' | 'iccid_last4'>

/** Octets of a word that are told apart, in hexadecimal. */
const WORD_DIGITS = 64
const LABEL = 'l'
const MSISDN = 'm'

/** The words of a text: lower case, without accents, what is neither letter nor digit parts them. */
export function wordsOf(text: string): readonly string[] {
  const plain = text.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase()
  return [...new Set(plain.split(/[^\p{L}\p{N}]+/u).filter((word) => word !== ''))]
}

/**
 * How a word of a label is stored: its octets in hexadecimal, so that every database orders it alike and what begins with
 * a word is a range.
 */
export function labelKey(word: string): string {
  return LABEL + Buffer.from(word).toString('hex').slice(0, WORD_DIGITS)
}

/** How an MSISDN is stored: backwards, so that its last digits are a beginning. */
export function msisdnKey(digits: string): string {
  return MSISDN + [...digits].reverse().join('')
}

/** Everything that a SIM is found by beside its own columns. */
export function keysOf({ label, msisdn }: Pick<SimRow, 'label' | 'msisdn'>): readonly string[] {
  const words = label === null ? [] : wordsOf(label).map(labelKey)
  return [...new Set(msisdn === null ? words : [...words, msisdnKey(msisdn)])]
}
