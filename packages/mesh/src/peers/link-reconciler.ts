import {
  type Context,
  messageOf,
  type Reconciler,
  southboundUnavailable,
  systemPrincipal,
} from '@steeple/contracts'
import type { ApproveRule, PeeringConfig } from '../config.ts'
import type { SeenLink } from '../wireguard/link-driver.ts'
import { type Aim, aimAt, applyPeers, applyRoutes } from './apply.ts'
import { contains, parseCidr } from './cidr.ts'
import { parseEndpoint } from './endpoint.ts'
import { adoptMembers } from './follow-members.ts'
import { changeKeyWhenReady } from './own-key.ts'
import { LINK_KEY, LINK_RESOURCE, type PeersParts } from './parts.ts'
import { allPeers, listOf, PEERS, type PeerRow } from './peer-store.ts'
import {
  isAdvertisingAllowed,
  peerNetworks,
  reservedNetworks,
  routeProblems,
  spelled,
} from './reserved-networks.ts'
import { askDoubtful } from './rtt.ts'

/** How often the interface is looked at: a stale peer's routes are gone within ten seconds (contract section 9). */
const LOOK_MS = 5_000
/** Also after looks that failed. */
const LONGEST_MS = 8_000

/** Brings the WireGuard interface, its peers and routes to what is wanted. Level-triggered: looks at all of it each time. */
export function linkReconciler(parts: PeersParts): Reconciler {
  return {
    resource: LINK_RESOURCE,
    runs: 'machine',
    resyncMs: LOOK_MS,
    urgentConcurrency: 1,
    concurrency: 1,
    backoff: { firstMs: 1_000, longestMs: LONGEST_MS },
    keys: async () => [LINK_KEY],
    reconcile: async (_keys, signal) => {
      const { board } = parts
      try {
        await look(parts, signal)
        board.problem = undefined
        return { state: 'converged' }
      } catch (error) {
        signal.throwIfAborted()
        board.problem = messageOf(error)
        return { state: 'failed', reason: board.problem }
      } finally {
        board.changes.tell()
      }
    },
  }
}

async function look(parts: PeersParts, signal: AbortSignal): Promise<void> {
  const { context, board, driver, key } = parts
  if (!context.config.enabled) {
    await takeAway(parts, signal)
    return
  }
  await adoptMembers(parts)
  await approveByRule(parts)
  board.ownKeys = { present: await key.present(), next: await key.next() }
  const all = await allPeers(context.db)
  const rows = all.filter(({ removed_at_ms }) => removed_at_ms === null)
  if (rows.length === 0) await takeAway(parts, signal)
  else await hold(parts, all, rows, signal)
  // A key changes when those who should know of it do; without a peer nobody has to.
  if (await changeKeyWhenReady(parts, rows)) {
    board.ownKeys = { present: await key.present(), next: undefined }
    if (rows.length > 0 && driver.exists()) await driver.setKey(key.file, context.config.listen_port, signal)
  }
  await publishOwn(parts, rows)
}

async function hold(
  parts: PeersParts,
  all: readonly PeerRow[],
  rows: readonly PeerRow[],
  signal: AbortSignal,
): Promise<void> {
  const { board, driver } = parts
  const seen = await ownLink(parts, signal)
  board.handshakeStates.see(seen.wireguard.peers)
  await askDoubtful(parts, rows, signal)
  const aim = await aimAt(parts, rows)
  const isChanged = await applyPeers(parts, { seen, aim, rows, all }, signal)
  await applyRoutes(parts, seen, aim, signal)
  await tellOfChanges(parts, rows, aim)
  const now = isChanged ? ((await driver.peek(signal)) ?? seen.wireguard) : seen.wireguard
  board.handshakeStates.see(now.peers)
  board.prepared = rows.flatMap(({ next_key }) =>
    next_key !== null && now.peers.some(({ publicKey }) => publicKey === next_key) ? [next_key] : [],
  )
  board.serving = aim.serving
  board.active = aim.active
  board.names = new Map(rows.map(({ id, name }) => [id, name]))
  board.nodes = new Map(rows.flatMap(({ id, node_id }) => (node_id === null ? [] : [[id, node_id]])))
  board.unresolved = aim.unresolved
  board.isUp = true
}

/** The interface as this node wants it, apart from its peers. Throws when it is somebody else's. */
async function ownLink(
  { driver, context, key, members }: PeersParts,
  signal: AbortSignal,
): Promise<SeenLink> {
  const { interface: name, listen_port: port } = context.config
  let seen = await driver.observe(signal)
  if (seen?.owner === 'foreign')
    throw southboundUnavailable(
      `the WireGuard interface ${name} is somebody else's and stays as it is; name another one in peering.interface, or remove it`,
    )
  if (seen === undefined || seen.owner === 'new') {
    await driver.create(signal)
    context.log.info({ interface: name }, 'WireGuard interface made')
    seen = await driver.observe(signal)
    if (seen === undefined) throw southboundUnavailable(`the interface ${name} is gone again`)
  }
  const { wireguard } = seen
  if (wireguard.publicKey !== (await key.present()) || wireguard.listenPort !== port)
    await driver.setKey(key.file, port, signal)
  const address = members.overlay()?.address
  const hasAddress =
    address === undefined
      ? seen.addresses.length === 0
      : seen.addresses.length === 1 && seen.addresses[0]?.split('/')[0] === address
  if (!seen.isUp || !hasAddress) await driver.setAddress(address, seen.addresses, signal)
  return seen
}

/** Removes what this node has made, and nothing else. Somebody else's peer keeps its interface. */
export async function takeAway({ driver, board, context }: PeersParts, signal: AbortSignal): Promise<void> {
  const isThere = driver.exists()
  board.isUp = false
  board.serving = new Map()
  board.active = new Set()
  board.prepared = []
  board.foreign = []
  if (!isThere) return
  const seen = await driver.observe(signal)
  if (seen?.owner !== 'own') return
  const rows = await allPeers(context.db)
  const ours = new Set(rows.flatMap((row) => [row.public_key, row.next_key, row.former_key]))
  const keys = seen.wireguard.peers.map(({ publicKey }) => publicKey)
  board.foreign = keys.filter((key) => !ours.has(key))
  if (board.foreign.length === 0) {
    await driver.remove(signal)
    context.log.info({ interface: context.config.interface }, 'WireGuard interface removed')
    return
  }
  await driver.removeRoutes(seen.routes, signal)
  await driver.setPeers(
    [],
    keys.filter((key) => ours.has(key)),
    signal,
  )
}

/** Events of links that came up or went, for those who watch. */
async function tellOfChanges(
  { context, board }: PeersParts,
  rows: readonly PeerRow[],
  aim: Aim,
): Promise<void> {
  if (!board.isUp) return
  const turned = rows.filter(({ id }) => board.active.has(id) !== aim.active.has(id))
  if (turned.length === 0) return
  await context.observe(async (tx) => {
    for (const { id, name } of turned) {
      const state = aim.active.has(id) ? 'active' : 'stale'
      tx.event({ type: `peer.${state}`, subject: id, data: { name, state } })
      context.log.info({ peer: id, state }, 'peer has changed')
    }
  })
}

/** Tells the members of the mesh about this node's interface, when there is a mesh and something new to tell. */
async function publishOwn(parts: PeersParts, rows: readonly PeerRow[]): Promise<void> {
  const { members, board, context } = parts
  const { ownKeys, prepared } = board
  if (members.overlay() === undefined || ownKeys === undefined) return
  const { endpoint, listen_port, advertise } = context.config
  const wireguard = {
    public_key: ownKeys.present,
    next_public_key: ownKeys.next ?? null,
    prepared: [...prepared].sort(),
    endpoint: endpoint || null,
    listen_port,
    advertised: advertise.map(spelled),
    takes: isAdvertisingAllowed(parts) ? takenFrom(rows) : [],
  }
  const text = JSON.stringify(wireguard)
  if (board.published === text) return
  await members.publish(wireguard)
  board.published = text
}

/**
 * What of members this node takes packets of: networks that are approved of one peer alone, however its link is now. By this a
 * member knows whether its phones' own addresses get through here.
 */
function takenFrom(rows: readonly PeerRow[]): readonly string[] {
  const approved = rows.flatMap(({ node_id, approved: routes, advertised }) =>
    listOf(routes)
      .filter((cidr) => cidr !== '0.0.0.0/0' && listOf(advertised).includes(cidr))
      .map((cidr) => ({ node_id, cidr })),
  )
  const isOnly = (cidr: string): boolean => approved.filter((one) => one.cidr === cidr).length === 1
  return approved
    .flatMap(({ node_id, cidr }) => (node_id !== null && isOnly(cidr) ? [`${node_id} ${cidr}`] : []))
    .toSorted()
}

/**
 * Approves what members offer where a rule of `peering.approve` lets it in. What runs into anything else, a route of another box too,
 * waits for somebody: the policy allows that to an operator who has seen it, and not to a rule.
 */
async function approveByRule(parts: PeersParts): Promise<void> {
  const { context } = parts
  const { approve: rules } = context.config
  if (rules.length === 0 || !isAdvertisingAllowed(parts)) return
  // Of two that offer the same the older one is given it.
  const rows = (await allPeers(context.db)).toSorted(
    (one, other) => one.created_at_ms - other.created_at_ms || one.name.localeCompare(other.name),
  )
  for (const { id, name } of rows.filter((row) => ruled(rules, row).length > 0)) {
    // Each with what those before it were given.
    const now = await allPeers(context.db)
    const row = now.find((one) => one.id === id)
    if (row === undefined) continue
    const routes = soundOf(parts, row, now, ruled(rules, row))
    if (routes.length > 0) await approve(context, row, routes)
    else context.log.debug({ peer: name }, 'routes that a rule approves run into others')
  }
}

async function approve(
  context: Context<PeeringConfig>,
  { id, name, advertised, approved }: PeerRow,
  routes: readonly string[],
): Promise<void> {
  await context.mutate(systemPrincipal('mesh'), 'peer.approve', id, async (tx) => {
    const row = await PEERS.find(tx, { id })
    // Somebody has changed it meanwhile; the next look sees how it is.
    if (row === undefined || row.advertised !== advertised || row.approved !== approved) return
    const all = [...listOf(approved), ...routes]
    await PEERS.put(tx, { ...row, approved: JSON.stringify(all), changed_at_ms: context.clock.nowMs() })
    tx.audit({ detail: { name, routes: all, by: 'peering.approve' } })
    tx.event({ type: 'peer.approve', subject: id, data: { name, routes: all } })
  })
}

/** What a member offers, a rule approves and nobody has approved yet. */
function ruled(rules: readonly ApproveRule[], row: PeerRow): readonly string[] {
  if (row.source !== 'mesh' || row.removed_at_ms !== null) return []
  const approved = listOf(row.approved)
  const own = rules.filter(({ boxes }) => isNamed(boxes, row.name))
  return listOf(row.advertised).filter(
    (text) => !approved.includes(text) && own.some(({ within }) => isWithin(text, within)),
  )
}

/** `village-*` names all that begin so. */
function isNamed(pattern: string, name: string): boolean {
  return pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern
}

function isWithin(text: string, within: string): boolean {
  const [network, whole] = [parseCidr(text), parseCidr(within)]
  return network !== undefined && whole !== undefined && contains(whole, network)
}

/** Those that run into nothing; of the way to the internet there may be several. */
function soundOf(
  parts: PeersParts,
  row: PeerRow,
  rows: readonly PeerRow[],
  routes: readonly string[],
): readonly string[] {
  const reserved = [...reservedNetworks(parts), ...peerNetworks(rows, row.id)].filter(
    ({ cidr }) => cidr.prefix > 0,
  )
  const host = row.endpoint === null ? undefined : parseEndpoint(row.endpoint)?.host
  return routes.filter((text) => text === '0.0.0.0/0' || routeProblems([text], reserved, host).length === 0)
}
