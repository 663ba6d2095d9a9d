import { type ErrorDetail, type JsonSchema, NAME_PATTERN, validationFailed } from '@steeple/contracts'
import { isKey } from '../../wireguard/keys.ts'
import { hostCidr, isHost, parseCidr } from '../cidr.ts'
import { type Endpoint, parseEndpoint } from '../endpoint.ts'
import type { PeersParts } from '../parts.ts'
import type { PeerRow } from '../peer-store.ts'
import {
  heldAddresses,
  isAdvertisingAllowed,
  overlayNetwork,
  overlayProblem,
  peerNetworks,
  reservedNetworks,
  routeProblems,
} from '../reserved-networks.ts'

/** The body of `POST /v1/peers`. Contract section 9. */
export interface AddBody {
  readonly name: string
  readonly endpoint: string
  readonly public_key: string
  readonly routes: readonly string[]
  readonly preshared_key?: string
  readonly keepalive_s?: number
}

/** A key as `wg` writes it. */
export const KEY_SCHEMA: JsonSchema = { type: 'string', minLength: 44, maxLength: 44 }
/** Networks of a request: IPv4. Others are refused with the reason, which a pattern could not give. */
export const ROUTES_SCHEMA: JsonSchema = {
  type: 'array',
  maxItems: 64,
  items: { type: 'string', maxLength: 64 },
}
export const PEER_NAME_SCHEMA: JsonSchema = {
  type: 'string',
  minLength: 1,
  maxLength: 64,
  pattern: NAME_PATTERN,
}

/** What is wrong with a body, in one answer. */
export function refuse(details: readonly ErrorDetail[]): void {
  if (details.length === 0) return
  throw validationFailed(details.map(({ pointer, message }) => `${pointer} ${message}`).join('; '), {
    details,
  })
}

/** Checks a body that adds a peer. Throws `validation_failed`; a key is never in a message. */
export function checkAdd(parts: PeersParts, body: AddBody, rows: readonly PeerRow[]): Endpoint {
  const endpoint = parseEndpoint(body.endpoint)
  const details: ErrorDetail[] = []
  if (endpoint === undefined)
    details.push({ pointer: '/endpoint', message: 'must be wg://host:port, IPv6 in brackets' })
  if (!isKey(body.public_key))
    details.push({ pointer: '/public_key', message: 'must be a key of WireGuard: base64 of 32 octets' })
  if (body.preshared_key !== undefined && !isKey(body.preshared_key))
    details.push({ pointer: '/preshared_key', message: 'must be a key of WireGuard: base64 of 32 octets' })
  if (body.public_key === parts.board.ownKeys?.present || body.public_key === parts.board.ownKeys?.next)
    details.push({ pointer: '/public_key', message: "is this node's own" })
  details.push(...routeDetails(parts, body.routes, rows, { endpoint: endpoint?.host, ownId: undefined }))
  refuse(details)
  // It has been refused when it is not there.
  return endpoint ?? { host: '', port: 0 }
}

/** What is the matter with routes, by their pointers; what the policy allows is left out where it does. */
export function routeDetails(
  parts: PeersParts,
  routes: readonly string[],
  rows: readonly PeerRow[],
  { endpoint, ownId }: { readonly endpoint: string | undefined; readonly ownId: string | undefined },
): readonly ErrorDetail[] {
  const isAllowed = isAdvertisingAllowed(parts)
  const reserved = [...reservedNetworks(parts), ...peerNetworks(rows, ownId)]
  const overlay = overlayNetwork(parts)
  const held = heldAddresses(parts, rows, ownId)
  const plain = routeProblems(routes, reserved, endpoint)
    .filter((problem) => !(isAllowed && problem.isAllowable))
    .map(({ index, message, isAllowable }) => ({
      pointer: `/routes/${index}`,
      message: isAllowable ? `${message}; mesh.allow_route_advertise of the policy would allow it` : message,
    }))
  const inOverlay = routes.flatMap((route, index) => {
    const message = overlay === undefined ? undefined : overlayProblem(route, overlay, held)
    return message === undefined ? [] : [{ pointer: `/routes/${index}`, message }]
  })
  return [...plain, ...inOverlay]
}

/** The first single address of routes: the peer itself. */
export function addressIn(routes: readonly string[]): string | null {
  const host = routes.find((text) => {
    const cidr = parseCidr(text)
    return cidr !== undefined && isHost(cidr)
  })
  const address = host?.split('/')[0] ?? ''
  return hostCidr(address) === undefined ? null : address
}
