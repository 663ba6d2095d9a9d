import { networkInterfaces } from 'node:os'
import { policyRef, sectionOf } from '@steeple/contracts'
import {
  type Cidr,
  cidrText,
  contains,
  hostCidr,
  isDefault,
  isHost,
  networkOf,
  overlaps,
  parseCidr,
} from './cidr.ts'
import type { PeersParts } from './parts.ts'
import { listOf, type PeerRow } from './peer-store.ts'

/** Whether the policy lets routes be advertised: `mesh.allow_route_advertise`. Without a policy it does not. */
export function isAdvertisingAllowed({ context }: PeersParts): boolean {
  return context.maybe(policyRef)?.bundle().mesh.allow_route_advertise ?? false
}

/** What a route must not run into on this machine: the phones' addresses and the networks of its interfaces. */
export function reservedNetworks({ context }: Pick<PeersParts, 'context'>): readonly ReservedNetwork[] {
  const { settings, config } = context
  const core = settings.core === 'core_b' ? 'core_b' : 'core_a'
  const { subnet: pool = '' } = sectionOf(settings, core)
  const key = `${core}.subnet`
  const subnets = Object.entries(networkInterfaces()).flatMap(([name, addresses = []]) =>
    name === config.interface || name === 'lo'
      ? []
      : addresses.map(({ cidr }) => ({ cidr: networkOf(cidr ?? ''), what: `the network of ${name}` })),
  )
  return [{ cidr: parseCidr(pool), what: `the addresses of phones (${key})` }, ...subnets].flatMap(
    ({ cidr, what }) => (cidr === undefined ? [] : [{ cidr, what, isFixed: false }]),
  )
}

/** What other peers' routes have. */
export function peerNetworks(
  rows: readonly PeerRow[],
  ownId: string | undefined,
): readonly ReservedNetwork[] {
  return rows
    .filter(({ id, removed_at_ms }) => id !== ownId && removed_at_ms === null)
    .flatMap(({ name, approved }) =>
      listOf(approved).flatMap((text) => {
        const cidr = parseCidr(text)
        return cidr === undefined ? [] : [{ cidr, what: `a route of the peer ${name}`, isFixed: false }]
      }),
    )
}

/** The addresses of the overlay that are somebody's. */
export function heldAddresses(
  { members }: PeersParts,
  rows: readonly PeerRow[],
  ownId: string | undefined,
): readonly ReservedNetwork[] {
  const ofMembers = members.list().map(({ overlayAddress, name, isSelf }) => ({
    cidr: hostCidr(overlayAddress),
    what: isSelf ? 'the address of this node' : `the address of the member ${name}`,
  }))
  const ofPeers = rows
    .filter(({ id }) => id !== ownId)
    .map(({ address, name }) => ({ cidr: hostCidr(address ?? ''), what: `the address of the peer ${name}` }))
  return [...ofMembers, ...ofPeers].flatMap(({ cidr, what }) =>
    cidr === undefined ? [] : [{ cidr, what, isFixed: true }],
  )
}

/** The overlay's network, also before there is a mesh. */
export function overlayNetwork({ members, context }: PeersParts): Cidr | undefined {
  return parseCidr(members.overlay()?.subnet ?? context.config.subnet)
}

/**
 * Says why an address is none of a member, whatever the root says: it is not in `peering.subnet`, or it is in a network of
 * this machine. Undefined when nothing is wrong with it.
 */
export function strangeAddress(parts: Pick<PeersParts, 'context'>): (address: string) => string | undefined {
  const { subnet } = parts.context.config
  const allowed = parseCidr(subnet)
  const reserved = reservedNetworks(parts)
  return (address) => {
    const host = hostCidr(address)
    if (host === undefined || allowed === undefined || !contains(allowed, host))
      return `is not in ${subnet}; if it is right, set peering.subnet of this node to the network of the mesh`
    const network = reserved.find(({ cidr }) => overlaps(cidr, host))
    return network === undefined ? undefined : `is in ${cidrText(network.cidr)}, ${network.what}`
  }
}

/** Says of a network whether it runs into something of this machine. */
export function contestedBy(reserved: readonly ReservedNetwork[]): (cidr: string) => boolean {
  return (text) => {
    const network = parseCidr(text)
    return network !== undefined && reserved.some(({ cidr }) => overlaps(cidr, network))
  }
}

/** The normal spelling of a network; the text itself when it is none. */
export function spelled(text: string): string {
  const cidr = parseCidr(text)
  return cidr === undefined ? text : cidrText(cidr)
}

/** A network that a route must not run into. */
interface ReservedNetwork {
  readonly cidr: Cidr
  /** `the addresses of phones (core_a.subnet)`, `the route of peer north`. */
  readonly what: string
  /** True: no policy allows it. */
  readonly isFixed: boolean
}

/** What is the matter with one route of a list. */
interface RouteProblem {
  readonly index: number
  readonly message: string
  /** Whether `mesh.allow_route_advertise` of the policy would allow it. */
  readonly isAllowable: boolean
}

/**
 * What stands against routes to a peer.
 *
 * - `routes`: as they were given. `endpoint`: its address where it is one.
 * - Fixed: no CIDR, IPv6 (addresses of the mesh and what breakout passes on are of IPv4), twice, bits behind the prefix, loopback, link-local, multicast, the peer's own endpoint (its packets
 *   would run into themselves), what `reserved` call fixed. Otherwise a matter of the policy.
 */
export function routeProblems(
  routes: readonly string[],
  reserved: readonly ReservedNetwork[],
  endpoint: string | undefined,
): readonly RouteProblem[] {
  const host = endpoint === undefined ? undefined : hostCidr(endpoint)
  const parsed = routes.map(parseCidr)
  return parsed.flatMap((cidr, index): readonly RouteProblem[] => {
    const fixed = (message: string): readonly RouteProblem[] => [{ index, message, isAllowable: false }]
    if (cidr === undefined) return fixed('is no CIDR such as 10.20.0.0/16, or has bits behind its prefix')
    if (cidr.version === 6) return fixed('is a network of IPv6; peers carry IPv4 alone')
    const earlier = parsed.findIndex((other) => other !== undefined && cidrText(other) === cidrText(cidr))
    if (earlier < index) return fixed(`is the same as /routes/${earlier}`)
    if (isDefault(cidr)) return [{ index, message: 'is a default route', isAllowable: true }]
    const special = SPECIAL.find(([, network]) => overlaps(network, cidr))
    if (special !== undefined) return fixed(`overlaps with ${special[0]}`)
    if (host !== undefined && contains(cidr, host)) return fixed("contains the peer's own endpoint")
    return reserved
      .filter((network) => overlaps(network.cidr, cidr))
      .map(({ cidr: other, what, isFixed }) => ({
        index,
        message: `overlaps with ${cidrText(other)}, ${what}`,
        isAllowable: !isFixed,
      }))
  })
}

/** A route in the overlay is one address of it, which nobody else has. */
export function overlayProblem(
  route: string,
  overlay: Cidr,
  held: readonly ReservedNetwork[],
): string | undefined {
  const cidr = parseCidr(route)
  if (cidr === undefined || isDefault(cidr) || !overlaps(cidr, overlay)) return undefined
  if (!isHost(cidr))
    return `overlaps with ${cidrText(overlay)}, the addresses of the mesh; give one address of it`
  const holder = held.find((network) => overlaps(network.cidr, cidr))
  return holder === undefined ? undefined : `is ${holder.what}`
}

const SPECIAL: readonly (readonly [string, Cidr])[] = (
  [
    ['this machine itself', '127.0.0.0/8'],
    ['link-local addresses', '169.254.0.0/16'],
    ['multicast', '224.0.0.0/4'],
  ] as const
).flatMap(([what, text]) => {
  const cidr = parseCidr(text)
  return cidr === undefined ? [] : [[what, cidr] as const]
})
