import type { X509Certificate } from 'node:crypto'

/** The number of a certificate as `IssuedCertificate.serial` has it: hexadecimal, lower case, no zeros in front. */
export function serialOf({ serialNumber }: X509Certificate): string {
  return serialNumber.toLowerCase().replace(/^0+(?=.)/, '')
}

/** SHA-256 of a certificate's DER as it is announced: 64 hexadecimal digits, lower case. */
export function fingerprintOf({ fingerprint256 }: X509Certificate): string {
  return fingerprint256.replaceAll(':', '').toLowerCase()
}
