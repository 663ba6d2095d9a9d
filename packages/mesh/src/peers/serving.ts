import { isDefault, overlaps, parseCidr } from './cidr.ts'

/** A peer as far as its routes go. */
export interface Candidate {
  readonly id: string
  readonly isActive: boolean
  /** CIDR, normal spelling. */
  readonly advertised: readonly string[]
  readonly approved: readonly string[]
  /** Whether an operator named the routes here: then only those that need it ask for the policy. */
  readonly isStatic: boolean
}

/** What decides beside the peers. */
export interface ServingTerms {
  /** `mesh.allow_route_advertise` of the policy. */
  readonly isAllowed: boolean
  /** Whether a network runs into something of this machine. */
  readonly isContested: (cidr: string) => boolean
  /** Which peer served a network until now. */
  readonly holderOf: (cidr: string) => string | undefined
}

/**
 * The networks that are routed to each peer now, by its id.
 *
 * Those that are advertised, approved, and of an active peer. One that several have is routed to the peer that had it, as long
 * as it is active, then to the first: WireGuard gives a network to one peer alone, to the last that is set.
 */
export function servingOf(
  candidates: readonly Candidate[],
  { isAllowed, isContested, holderOf }: ServingTerms,
): ReadonlyMap<string, readonly string[]> {
  const wanted = candidates.map((candidate) => ({
    id: candidate.id,
    routes: candidate.isActive
      ? candidate.approved.filter(
          (cidr) =>
            candidate.advertised.includes(cidr) &&
            (isAllowed || (candidate.isStatic && !needsPolicy(cidr, candidate, candidates, isContested))),
        )
      : [],
  }))
  const owners = new Map<string, string>()
  for (const { id, routes } of wanted)
    for (const cidr of routes) if (!owners.has(cidr) || holderOf(cidr) === id) owners.set(cidr, id)
  return new Map(wanted.map(({ id, routes }) => [id, routes.filter((cidr) => owners.get(cidr) === id)]))
}

/** Of what an operator has named: the default route, and what overlaps with something else. */
function needsPolicy(
  cidr: string,
  { id }: Candidate,
  all: readonly Candidate[],
  isContested: (cidr: string) => boolean,
): boolean {
  const network = parseCidr(cidr)
  if (network === undefined || isDefault(network) || isContested(cidr)) return true
  return all.some(
    (other) =>
      other.id !== id &&
      other.approved.some((text) => {
        const theirs = parseCidr(text)
        return theirs !== undefined && overlaps(network, theirs)
      }),
  )
}
