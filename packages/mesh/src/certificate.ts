import type { X509Certificate } from 'node:crypto'

/** The number of a certificate as `IssuedCertificate.serial` has it: hexadecimal, lower case, no zeros in front. */
export function serialOf({ serialNumber }: X509Certificate): string {
  return serialNumber.toLowerCase().replace(/^0+(?=.)/, '')
}

/** SHA-256 of a certificate's DER as it is announced: 64 hexadecimal digits, lower case. */
export function fingerprintOf({ fingerprint256 }: X509Certificate): string {
  return fingerprint256.replaceAll(':', '').toLowerCase()
}

/** Contract section 4. */
export const CERTIFICATE_LIFE_MS: number = 30 * 86_400_000

/** What a signature is over, before the nonce and the request: it can be taken for nothing else. */
const PURPOSE = 'steeple mesh renewal'

/** What a member signs to renew a certificate that has expired. */
export function renewalPurpose(nonce: string, csrPem: string): Uint8Array {
  return Buffer.from(`${PURPOSE}\n${nonce}\n${csrPem}`)
}
