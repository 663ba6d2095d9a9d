import type { SeenInterface, SeenPeer } from '../wireguard/dump.ts'
import { newPresharedKey, pskDigest } from '../wireguard/keys.ts'
import type { PeerChange, SeenLink } from '../wireguard/link-driver.ts'
import { cidrText, hostCidr, isDefault, overlaps, parseCidr } from './cidr.ts'
import { hostPort, parseEndpoint } from './endpoint.ts'
import { linkState } from './handshake-state.ts'
import type { PeersParts } from './parts.ts'
import { listOf, type PeerRow } from './peer-store.ts'
import { contestedBy, isAdvertisingAllowed, reservedNetworks } from './reserved-networks.ts'

/** What the interface should be, as it follows from the rows and from what was seen. */
export interface Aim {
  readonly peers: readonly WantedPeer[]
  readonly serving: ReadonlyMap<string, readonly string[]>
  readonly active: ReadonlySet<string>
  /** CIDR, in the kernel's table. */
  readonly routes: readonly string[]
  readonly unresolved: ReadonlySet<string>
}

/** Works out the aim. Changes nothing. */
export async function aimAt(parts: PeersParts, rows: readonly PeerRow[]): Promise<Aim> {
  const { board, vault } = parts
  const active = new Set(rows.filter((row) => isActive(parts, row)).map(({ id }) => id))
  const serving = servingOf(
    rows.map((row) => ({
      id: row.id,
      isActive: active.has(row.id),
      advertised: listOf(row.advertised),
      approved: listOf(row.approved),
      isStatic: row.source === 'static',
    })),
    {
      isAllowed: isAdvertisingAllowed(parts),
      isContested: contestedBy(reservedNetworks(parts)),
      holderOf: (cidr) => [...board.serving].find(([, routes]) => routes.includes(cidr))?.[0],
    },
  )
  const unresolved = new Set<string>()
  const places = await Promise.all(rows.map((row) => placeOf(parts, row, unresolved)))
  const peers = rows.flatMap((row, index): readonly WantedPeer[] => {
    const own = ownCidr(row)
    const allowedIps = [...new Set([...(own === undefined ? [] : [own]), ...(serving.get(row.id) ?? [])])]
    const wanted: WantedPeer = {
      publicKey: row.public_key,
      psk:
        row.psk_sealed === null
          ? { kind: 'none' }
          : { kind: 'digest', sha256: pskDigest(openPsk(vault, row)) },
      endpoint: places[index],
      isActive: active.has(row.id),
      keepaliveS: row.keepalive_s,
      allowedIps,
    }
    return row.next_key === null ? [wanted] : [wanted, latchOf(row.next_key)]
  })
  const routes = peers.flatMap(({ allowedIps }) => allowedIps).filter((text) => !isEverything(text))
  return { peers, serving, active, routes: [...new Set(routes)], unresolved }
}

/** Brings the peers of the interface to the aim. */
export async function applyPeers(
  { driver, board, vault }: PeersParts,
  {
    seen,
    aim,
    rows,
    all,
  }: {
    readonly seen: SeenLink
    readonly aim: Aim
    readonly rows: readonly PeerRow[]
    readonly all: readonly PeerRow[]
  },
  signal: AbortSignal,
): Promise<boolean> {
  const ours = new Set(all.flatMap((row) => [row.public_key, row.next_key, row.former_key]))
  const plan = planPeers(aim.peers, seen.wireguard, (key) => ours.has(key))
  board.foreign = plan.foreign
  const byKey = new Map(rows.map((row) => [row.public_key, row]))
  if (plan.changes.length === 0 && plan.removed.length === 0) return false
  const changes = plan.changes.map(({ psk, ...change }) => ({
    ...change,
    ...secretOf(psk, () => openPsk(vault, byKey.get(change.publicKey))),
  }))
  await driver.setPeers(changes, plan.removed, signal)
  return true
}

/** Brings the routes into the interface to the aim: those that are too many go first. */
export async function applyRoutes(
  { driver, members }: PeersParts,
  seen: SeenLink,
  aim: Aim,
  signal: AbortSignal,
): Promise<void> {
  const [wanted, present] = [new Set(aim.routes), new Set(seen.routes)]
  const extra = seen.routes.filter((cidr) => !wanted.has(cidr))
  if (extra.length > 0) await driver.removeRoutes(extra, signal)
  const missing = aim.routes.filter((cidr) => !present.has(cidr))
  if (missing.length > 0) await driver.addRoutes(missing, members.overlay()?.address, signal)
}

function secretOf(psk: PlannedChange['psk'], open: () => string): { readonly presharedKey?: string } {
  // One without a preshared key that should have none was forgotten first.
  if (psk === 'keep' || psk.kind === 'none') return {}
  return { presharedKey: psk.kind === 'latch' ? newPresharedKey() : open() }
}

function openPsk(vault: PeersParts['vault'], row: PeerRow | undefined): string {
  if (row?.psk_sealed === null || row === undefined) return newPresharedKey()
  const plain = vault.open(row.psk_sealed, `mesh_peer/${row.id}`)
  try {
    return Buffer.from(plain).toString('utf8')
  } finally {
    plain.fill(0)
  }
}

function latchOf(publicKey: string): WantedPeer {
  return {
    publicKey,
    psk: { kind: 'latch' },
    endpoint: undefined,
    isActive: true,
    keepaliveS: 0,
    allowedIps: [],
  }
}

function isActive({ board }: PeersParts, { public_key }: PeerRow): boolean {
  return linkState(board.handshakeStates.of(public_key)) === 'active'
}

/** A peer's own address is always routed to it: by its packets it comes back. */
function ownCidr({ address }: PeerRow): string | undefined {
  const cidr = hostCidr(address ?? '')
  return cidr === undefined ? undefined : cidrText(cidr)
}

async function placeOf(
  { resolver }: PeersParts,
  { endpoint }: PeerRow,
  unresolved: Set<string>,
): Promise<string | undefined> {
  const parsed = endpoint === null ? undefined : parseEndpoint(endpoint)
  if (parsed === undefined) return undefined
  const address = await resolver.addressOf(parsed.host)
  if (address === undefined) unresolved.add(parsed.host)
  return address === undefined ? undefined : hostPort({ host: address, port: parsed.port })
}

/** The default route is for breakout to place; it is in the peer's allowed-ips alone. */
function isEverything(text: string): boolean {
  const cidr = parseCidr(text)
  return cidr !== undefined && isDefault(cidr)
}

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
interface ServingTerms {
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

/** A peer as the interface should have it. */
export interface WantedPeer {
  readonly publicKey: string
  /**
   * `none`, a digest (see `pskDigest`) of the one it has, or `latch`: some random one. With a latch no handshake of the
   * peer's succeeds, and that one was tried is seen: it has gone over to this key.
   */
  readonly psk:
    | { readonly kind: 'none' }
    | { readonly kind: 'latch' }
    | { readonly kind: 'digest'; readonly sha256: string }
  /** `host:port` with an address; undefined while none is known. */
  readonly endpoint: string | undefined
  /** Its link works: where it is now is known better from its packets. */
  readonly isActive: boolean
  /** 0: off. */
  readonly keepaliveS: number
  /** CIDR. */
  readonly allowedIps: readonly string[]
}

/** A change, without its secret. */
type PlannedChange = Omit<PeerChange, 'presharedKey'> & { readonly psk: WantedPeer['psk'] | 'keep' }

/** What there is to do, and what is left alone. */
interface PeerPlan {
  readonly changes: readonly PlannedChange[]
  /** Public keys. */
  readonly removed: readonly string[]
  /** Public keys of peers that somebody else has put on the interface. */
  readonly foreign: readonly string[]
}

/**
 * The difference between the peers that are wanted and those that the interface has.
 *
 * `isOurs` says of a public key that this service has made such a peer. Networks of somebody else's peer are left to it:
 * setting them here would take them away there without a word.
 */
export function planPeers(
  wanted: readonly WantedPeer[],
  seen: SeenInterface,
  isOurs: (publicKey: string) => boolean,
): PeerPlan {
  const present = new Map(seen.peers.map((peer) => [peer.publicKey, peer]))
  const keys = new Set(wanted.map(({ publicKey }) => publicKey))
  const others = seen.peers.filter(({ publicKey }) => !keys.has(publicKey))
  const foreign = others.filter(({ publicKey }) => !isOurs(publicKey))
  const taken = new Set(foreign.flatMap(({ allowedIps }) => allowedIps))
  return {
    changes: wanted.flatMap((peer) => {
      const allowedIps = peer.allowedIps.filter((cidr) => !taken.has(cidr))
      return changeOf({ ...peer, allowedIps }, present.get(peer.publicKey)) ?? []
    }),
    removed: others.filter(({ publicKey }) => isOurs(publicKey)).map(({ publicKey }) => publicKey),
    foreign: foreign.map(({ publicKey }) => publicKey),
  }
}

function changeOf(wanted: WantedPeer, seen: SeenPeer | undefined): PlannedChange | undefined {
  const { publicKey, psk, endpoint, keepaliveS, allowedIps } = wanted
  const base = { publicKey, keepaliveS, allowedIps }
  const whole = { ...base, psk, ...(endpoint === undefined ? {} : { endpoint }) }
  if (seen === undefined) return whole
  // A new secret means new handshakes, and none of the old waits for its time to try again.
  if (!hasPsk(seen, psk)) return { ...whole, isAnew: true }
  const isMoved = endpoint !== undefined && !wanted.isActive && seen.endpoint !== endpoint
  const isSame = !isMoved && (seen.keepaliveS ?? 0) === keepaliveS && isSameSet(seen.allowedIps, allowedIps)
  if (isSame) return undefined
  return { ...base, psk: 'keep', ...(isMoved ? { endpoint } : {}) }
}

function hasPsk({ pskSha256 }: SeenPeer, psk: WantedPeer['psk']): boolean {
  if (psk.kind === 'none') return pskSha256 === undefined
  return psk.kind === 'latch' ? pskSha256 !== undefined : pskSha256 === psk.sha256
}

function isSameSet(one: readonly string[], other: readonly string[]): boolean {
  const set = new Set(one)
  return set.size === new Set(other).size && other.every((item) => set.has(item))
}
