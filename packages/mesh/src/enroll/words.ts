import { createRequire } from 'node:module'
import type { entropyToMnemonic } from '@scure/bip39'
import type { wordlist } from '@scure/bip39/wordlists/english.js'

/** As much of the hash as a bootstrap token carries. */
const OCTETS = 16

/**
 * The fingerprint of a CA as twelve words, for people to compare: the first 128 bits of its SHA-256 by the English list of
 * BIP-39. They are no secret, and no wallet. The list is loaded when it is first asked, not by each start.
 */
export function wordsOf(caSha256: string): string {
  const require = createRequire(import.meta.url)
  const bip39 = require('@scure/bip39') as { readonly entropyToMnemonic: typeof entropyToMnemonic }
  const english = require('@scure/bip39/wordlists/english.js') as { readonly wordlist: typeof wordlist }
  return bip39.entropyToMnemonic(Buffer.from(caSha256, 'hex').subarray(0, OCTETS), english.wordlist)
}
