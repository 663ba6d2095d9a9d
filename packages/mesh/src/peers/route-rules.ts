import { type Cidr, cidrText, contains, hostCidr, isDefault, isHost, overlaps, parseCidr } from './cidr.ts'

/** A network that a route must not run into. */
export interface ReservedNetwork {
  readonly cidr: Cidr
  /** `the addresses of phones (core_a.subnet)`, `the route of peer north`. */
  readonly what: string
  /** True: no policy allows it. */
  readonly isFixed: boolean
}

/** What is the matter with one route of a list. */
export interface RouteProblem {
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
