import { createHash, randomBytes } from 'node:crypto'
import type { Vault } from '@steeple/contracts'
import type { CodeRow } from '../store/rows.ts'

/** The activation code of a code that is stored. Throws `store_corrupt`. */
export function activationOf(vault: Vault, row: CodeRow): string {
  const octets = vault.open(row.matching_sealed, `esim_smdp_code/${row.token}`)
  try {
    const matchingId = Buffer.from(octets).toString('ascii')
    return activationCode(row.smdp_address, matchingId, row.confirmation_sealed !== null)
  } finally {
    octets.fill(0)
  }
}

/** 26 characters of 5 bits: 130. */
const MATCHING_CHARACTERS = 26
const TOKEN_CHARACTERS = 20

/** A matching id: the one secret of an activation code. */
export function drawMatchingId(): string {
  return base32(randomBytes(MATCHING_CHARACTERS))
}

/** A code's own id, `e-` and 20 random letters and digits: no secret, it opens nothing. */
export function drawToken(): string {
  return `e-${base32(randomBytes(TOKEN_CHARACTERS)).toLowerCase()}`
}

/** What is kept of a confirmation code, and what a phone's hash is held against: its SHA-256. SGP.22 §3.1.3. */
export function confirmationDigest(code: string): Buffer {
  return createHash('sha256').update(code, 'utf8').digest()
}

/** A matching id: 130 random bits. SGP.22 §4.1.1 allows upper-case letters, digits and hyphens; without I, L, O and U it can be read aloud. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

/**
 * The activation code of a profile, `LPA:1$<address>$<matching id>`, with `$$1` behind it when a confirmation code is asked
 * for (the empty field would be the SM-DP+'s OID). SGP.22 §4.1.
 */
export function activationCode(address: string, matchingId: string, isConfirmed: boolean): string {
  // Of a provider's code the OID stands behind the matching id already.
  const flag = matchingId.includes('$') ? '$1' : '$$1'
  return `LPA:1$${address}$${matchingId}${isConfirmed ? flag : ''}`
}

/**
 * The text of its QR code: the address in upper case, as matching ids of this service are, so that QR stores it in fewer
 * modules. Host names know no case; a matching id of somebody's order stays as it is.
 */
export function qrText(code: string): string {
  const [format = '', address = '', ...rest] = code.split('$')
  return [format, address.toUpperCase(), ...rest].join('$')
}

/** 32 characters for octets of a random source: 5 bits of each are used, all alike. */
export function base32(octets: Uint8Array): string {
  return Array.from(octets, (octet) => ALPHABET.charAt(octet & 31)).join('')
}
