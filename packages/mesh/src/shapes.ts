import type { JsonSchema } from '@steeple/contracts'

/** A host name, an IPv4 literal or an IPv6 literal in brackets, and a port. */
export const HOST_PORT_PATTERN =
  '^([A-Za-z0-9]([A-Za-z0-9-]{0,62})([.][A-Za-z0-9][A-Za-z0-9-]{0,62}){0,20}|\\[[0-9a-fA-F:.]{2,45}\\]):[0-9]{1,5}$'
/** As `NodeIdentity.name`. */
export const NODE_NAME_PATTERN = '^[\\p{L}\\p{N}]([\\p{L}\\p{N} ._-]{0,62}[\\p{L}\\p{N}])?$'
/** 32 octets in base64, as WireGuard writes keys. */
export const WIREGUARD_KEY_PATTERN = '^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$'

export const PEM_SCHEMA: JsonSchema = { type: 'string', minLength: 1, maxLength: 16_384 }

/** Contract section 4. */
export const CERTIFICATE_LIFE_MS: number = 30 * 86_400_000

/** What a signature is over, before the nonce and the request: it can be taken for nothing else. */
const PURPOSE = 'steeple mesh renewal'

/** What a member signs to renew a certificate that has expired. */
export function renewalPurpose(nonce: string, csrPem: string): Uint8Array {
  return Buffer.from(`${PURPOSE}\n${nonce}\n${csrPem}`)
}
