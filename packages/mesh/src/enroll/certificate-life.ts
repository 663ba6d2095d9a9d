/** Contract section 4. */
export const CERTIFICATE_LIFE_MS: number = 30 * 86_400_000

/** What a signature is over, before the nonce and the request: it can be taken for nothing else. */
const PURPOSE = 'steeple mesh renewal'

/** What a member signs to renew a certificate that has expired. */
export function renewalPurpose(nonce: string, csrPem: string): Uint8Array {
  return Buffer.from(`${PURPOSE}\n${nonce}\n${csrPem}`)
}
