import { entropyToMnemonic } from '@scure/bip39'
import { wordlist } from '@scure/bip39/wordlists/english.js'

/** As much of the hash as a bootstrap token carries. */
const OCTETS = 16

/**
 * The fingerprint of a CA as twelve words, for people to compare: the first 128 bits of its SHA-256 by the English list of
 * BIP-39. They are no secret, and no wallet.
 */
export function wordsOf(caSha256: string): string {
  return entropyToMnemonic(Buffer.from(caSha256, 'hex').subarray(0, OCTETS), wordlist)
}
