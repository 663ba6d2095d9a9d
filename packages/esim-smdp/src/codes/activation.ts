/** A matching id: 130 random bits. SGP.22 §4.1.1 allows upper-case letters, digits and hyphens; without I, L, O and U it can be read aloud. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

/**
 * The activation code of a profile, `LPA:1$<address>$<matching id>`, with `$$1` behind it when a confirmation code is asked
 * for (the empty field would be the SM-DP+'s OID). SGP.22 §4.1.
 */
export function activationCode(address: string, matchingId: string, isConfirmed: boolean): string {
  return `LPA:1$${address}$${matchingId}${isConfirmed ? '$$1' : ''}`
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
