import type { JsonSchema } from '@steeple/contracts'

/** RFC 9562, lower case. */
export const NODE_ID_PATTERN = '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
/** A host name, an IPv4 literal or an IPv6 literal in brackets, and a port. */
export const HOST_PORT_PATTERN =
  '^([A-Za-z0-9]([A-Za-z0-9-]{0,62})([.][A-Za-z0-9][A-Za-z0-9-]{0,62}){0,20}|\\[[0-9a-fA-F:.]{2,45}\\]):[0-9]{1,5}$'
/** As `NodeIdentity.name`. */
export const NODE_NAME_PATTERN = '^[\\p{L}\\p{N}]([\\p{L}\\p{N} ._-]{0,62}[\\p{L}\\p{N}])?$'
/** 32 octets in base64, as WireGuard writes keys. */
export const WIREGUARD_KEY_PATTERN = '^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$'

export const NODE_ID_SCHEMA: JsonSchema = { type: 'string', pattern: NODE_ID_PATTERN }
export const PEM_SCHEMA: JsonSchema = { type: 'string', minLength: 1, maxLength: 16_384 }
