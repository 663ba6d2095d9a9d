/** A matching id: 130 random bits. SGP.22 §4.1.1 allows upper-case letters, digits and hyphens; without I, L, O and U it can be read aloud. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

/**
 * The activation code of a profile, `LPA:1$<address>$<matching id>`, with `$$1` behind it when a confirmation code is asked
 * for (the empty field would be the SM-DP+'s OID). SGP.22 §4.1.
 */
export function activationCode(address: string, matchingId: string, isConfirmed: boolean): string {
  return `LPA:1$${address}$${matchingId}${isConfirmed ? '$$1' : ''}`
}

/** The text of its QR code: upper case, which QR stores in fewer modules. Host names know no case, matching ids have none other. */
export function qrText(code: string): string {
  return code.toUpperCase()
}

/** 32 characters for octets of a random source: 5 bits of each are used, all alike. */
export function base32(octets: Uint8Array): string {
  return Array.from(octets, (octet) => ALPHABET.charAt(octet & 31)).join('')
}
