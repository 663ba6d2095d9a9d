import { newPresharedKey, pskDigest } from '../wireguard/keys.ts'
import type { SeenLink } from '../wireguard/link-driver.ts'
import { cidrText, hostCidr, isDefault, parseCidr } from './cidr.ts'
import { hostPort, parseEndpoint } from './endpoint.ts'
import { contestedBy, isAdvertisingAllowed, ownGrounds } from './grounds.ts'
import type { PeersParts } from './parts.ts'
import { listOf, type PeerRow } from './peer-store.ts'
import { servingOf } from './serving.ts'
import { linkState } from './standing.ts'
import { type PlannedChange, planPeers, type WantedPeer } from './wanted.ts'

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
      isContested: contestedBy(ownGrounds(parts)),
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
  const extra = seen.routes.filter((cidr) => !aim.routes.includes(cidr))
  if (extra.length > 0) await driver.removeRoutes(extra, signal)
  const missing = aim.routes.filter((cidr) => !seen.routes.includes(cidr))
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
  return linkState(board.standings.of(public_key)) === 'active'
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
