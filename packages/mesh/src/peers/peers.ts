import { join } from 'node:path'
import {
  type ComponentHealth,
  type Context,
  type ErrorDetail,
  fieldRefused,
  fieldsRefused,
  type Instance,
  nodeIdentityRef,
  nodeStateConflict,
  type Outcome,
  objectSchema,
  peerExists,
  peerNotFound,
  type Reconciler,
  type Route,
  recordSchema,
  route,
  systemPrincipal,
  vaultRef,
} from '@steeple/contracts'
import type { PeeringConfig } from '../config.ts'
import type { Links } from '../links.ts'
import type { Members } from '../members.ts'
import type { ConfirmedNode, Suggestion, Suggestions } from '../suggestions.ts'
import type { SeenInterface } from '../wireguard/dump.ts'
import { isKey } from '../wireguard/keys.ts'
import type { LinkDriver } from '../wireguard/link-driver.ts'
import { systemRun } from '../wireguard/run.ts'
import { systemLink } from '../wireguard/system-link.ts'
import { contains, isIn, parseCidr } from './cidr.ts'
import { endpointText, parseEndpoint, parseHostPort, type Resolver, systemResolver } from './endpoint.ts'
import { newRow } from './follow-members.ts'
import { linkReconciler, takeAway } from './link-reconciler.ts'
import { ownKey } from './own-key.ts'
import { createBoard, KEY_RESOURCE, LINK_KEY, LINK_RESOURCE, lookSoon, type PeersParts } from './parts.ts'
import { allPeers, listOf, PEERS, type PeerRow, wantedPeers } from './peer-store.ts'
import { PEER_SCHEMA, peerRecord, stateOf } from './record.ts'
import { isAdvertisingAllowed, spelled } from './reserved-networks.ts'
import { keyRoutes } from './routes/key-routes.ts'
import {
  PEER_PARAMS,
  type PeerParams,
  peerRoutes,
  ROUTES_SCHEMA,
  routeDetails,
} from './routes/peer-routes.ts'
import { echoRounds } from './rtt.ts'

const RESYNC_MS = 30_000
/** Between two looks for a peer's new key: packets wait at the peer meanwhile, WireGuard keeps 128 of them. */
const FAST_MS = 200
const SLOW_MS = 1_000
/** How long it is looked for fast. */
const FAST_FOR_MS = 300_000

/**
 * Follows peers that go over to another key.
 *
 * Both keys are on the interface: the old one with the peer's networks, the next one without any and with a preshared key
 * that nobody else has (a latch). The peer's first packet under its new key is a handshake that this node sees and does not
 * complete, so the peer keeps what it has to send. Then the networks move to the new key, whose handshake begins anew.
 */
function keyReconciler(parts: PeersParts): Reconciler {
  const { context } = parts
  const since = new Map<string, number>()
  const waiting = (id: string): Outcome => {
    const nowMs = context.clock.monotonicMs()
    const firstMs = since.get(id) ?? nowMs
    since.set(id, firstMs)
    const afterMs = nowMs - firstMs < FAST_FOR_MS ? FAST_MS : SLOW_MS
    return { state: 'pending', afterMs, reason: 'the peer has not gone over to its next key yet' }
  }
  return {
    resource: KEY_RESOURCE,
    runs: 'machine',
    resyncMs: RESYNC_MS,
    backoff: { firstMs: SLOW_MS, longestMs: 10_000 },
    batch: 100,
    keys: async () => await changing(parts),
    reconcile: async (keys, signal) => {
      if (!(context.config.enabled && parts.driver.exists())) return { state: 'converged' }
      const seen = await parts.driver.peek(signal)
      const outcomes = new Map<string, Outcome>()
      for (const id of keys) {
        const isWaiting = await follow(parts, id, seen)
        if (isWaiting) outcomes.set(id, waiting(id))
        else since.delete(id)
      }
      return outcomes
    },
  }
}

/** Goes over with a peer that has gone; whether it is still to. */
async function follow(parts: PeersParts, id: string, seen: SeenInterface | undefined): Promise<boolean> {
  const row = await PEERS.find(parts.context.db, { id })
  if (row === undefined || row.next_key === null || row.removed_at_ms !== null) return false
  const latch = seen?.peers.find(({ publicKey }) => publicKey === row.next_key)
  if (latch === undefined || latch.rxBytes === 0) return true
  await goOver(parts, id, row.next_key)
  return false
}

/** A peer's next key is its key from now on. */
async function goOver(parts: PeersParts, id: string, nextKey: string): Promise<void> {
  const { context } = parts
  await context.mutate(systemPrincipal('mesh'), 'peer.key', id, async (tx) => {
    const row = await PEERS.find(tx, { id })
    if (row?.next_key !== nextKey) return
    await PEERS.put(tx, {
      ...row,
      public_key: nextKey,
      next_key: null,
      former_key: row.public_key,
      changed_at_ms: context.clock.nowMs(),
    })
    tx.audit({ detail: { public_key: nextKey, former_key: row.public_key } })
    tx.event({ type: 'peer.key', subject: id, data: { name: row.name, public_key: nextKey } })
  })
  lookSoon(parts)
}

async function changing({ context }: PeersParts): Promise<readonly string[]> {
  return (await wantedPeers(context.db)).filter(({ next_key }) => next_key !== null).map(({ id }) => id)
}

/** Names in one line. */
const MOST_NAMED = 5
const STATES = ['pending', 'active', 'stale'] as const

/** Sets the gauges of peers. */
function peerGauges({ context, board }: PeersParts): () => Promise<void> {
  const peers = context.metrics.gauge('svc_mesh_peers', 'Peers, by state.', ['state'])
  const foreign = context.metrics.gauge(
    'svc_mesh_foreign_peers',
    'Peers on the WireGuard interface that this service did not add.',
  )
  return async () => {
    const rows = await wantedPeers(context.db)
    for (const state of STATES) {
      peers.set(rows.filter((row) => stateOf(row, board) === state).length, { state })
    }
    foreign.set(board.foreign.length)
  }
}

/** What the links look like, in one line. */
async function peersHealth({ context, board }: PeersParts): Promise<readonly ComponentHealth[]> {
  if (!context.config.enabled) return []
  const rows = await wantedPeers(context.db)
  if (rows.length === 0 && board.refused.length === 0) return []
  const down = rows.filter((row) => stateOf(row, board) !== 'active')
  const named = down.slice(0, MOST_NAMED).map(({ name }) => name)
  const detail =
    board.problem ??
    [
      `${rows.length - down.length} of ${rows.length} peers active`,
      ...(down.length === 0 ? [] : [`not: ${named.join(', ')}`]),
      ...board.refused.slice(0, MOST_NAMED).map(({ name, why }) => `the member ${name} is refused: ${why}`),
      ...(board.foreign.length === 0
        ? []
        : [`${board.foreign.length} on the interface that this service did not make`]),
    ].join('; ')
  const isWhole = board.problem === undefined && down.length === 0 && board.refused.length === 0
  return [{ name: 'wireguard', kind: 'peer', status: isWhole ? 'ok' : 'degraded', detail }]
}

const ECHO_MS = 15_000
const COUNT_MS = 15_000
const STOP_MS = 10_000

/** Parts that a test may give instead of the machine's. */
export interface OwnLinkParts {
  readonly driver?: LinkDriver
  readonly resolver?: Resolver
}

/** Links to other boxes over WireGuard. */
export async function peers(
  context: Context<PeeringConfig>,
  members: Members,
  suggestions: Suggestions,
  own: OwnLinkParts = {},
): Promise<{ readonly part: Instance; readonly links: Links }> {
  const keysDir = join(context.settings.server.data_dir, 'keys')
  const vault = context.use(vaultRef)
  vault.register({ table: PEERS.name, key: 'id', columns: ['psk_sealed'] })
  const parts: PeersParts = {
    context,
    members,
    suggestions,
    vault,
    driver:
      own.driver ??
      systemLink({
        name: context.config.interface,
        mark: `steeple ${context.use(nodeIdentityRef).nodeId}`,
        keysDir,
        run: systemRun(),
      }),
    key: ownKey(keysDir),
    resolver: own.resolver ?? systemResolver(context.clock),
    board: createBoard(context.clock),
  }
  return { part: partOf(parts), links: linksOf(parts) }
}

function partOf(parts: PeersParts): Instance {
  const { context, members, board } = parts
  return {
    routes: [...peerRoutes(parts), ...keyRoutes(parts), approveRoute(parts), acceptRoute(parts)],
    reconcilers: [linkReconciler(parts), keyReconciler(parts)],
    start: async () => {
      context.defer(
        members.onChange(
          gathered(
            () => lookSoon(parts),
            () => members.list().length,
          ),
        ),
      )
      context.every(ECHO_MS, echoRounds(parts), 'machine')
      context.every(COUNT_MS, peerGauges(parts), 'each')
    },
    stop: async (why) => {
      // A restart and an upgrade leave the tunnels to those who talk through them.
      if (why !== 'unload') return
      await takeAway(parts, AbortSignal.timeout(STOP_MS)).catch((error: unknown) =>
        context.log.warn({ err: error }, 'the WireGuard interface could not be removed'),
      )
      board.changes.tell()
    },
    health: async () => await peersHealth(parts),
  }
}

/** Members of a mesh in which each change is looked at by itself. */
const FEW = 20
/** In a larger one what comes in such a time is looked at together: each look asks the kernel for all peers. */
const GATHER_MS_EACH = 2
const LONGEST_GATHER_MS = 2_000

function gathered(look: () => void, membersNow: () => number): () => void {
  let timer: NodeJS.Timeout | undefined
  return () => {
    if (timer !== undefined) return
    const count = membersNow()
    if (count <= FEW) return look()
    timer = setTimeout(
      () => {
        timer = undefined
        look()
      },
      Math.min(LONGEST_GATHER_MS, GATHER_MS_EACH * count),
    )
    timer.unref()
  }
}

/** What breakout and the lifecycle see of the links. */
function linksOf({ context, board, members }: PeersParts): Links {
  return {
    // By what is stored: another instance may have the links.
    carries: async (nodeId, address) => {
      const rows = await PEERS.select(context.db, 'where node_id = :node_id and removed_at_ms is null', {
        node_id: nodeId,
      })
      return rows.some((row) => {
        const advertised = listOf(row.advertised)
        return listOf(row.approved).some(
          (cidr) => advertised.includes(cidr) && !cidr.endsWith('/0') && isIn(cidr, address),
        )
      })
    },
    device: () => (board.isUp ? context.config.interface : undefined),
    active: () => (board.isUp ? board.active.size : 0),
    hasRoutes: () => board.isUp && [...board.serving.values()].some((routes) => routes.length > 0),
    wayOut: () => {
      const found = [...board.serving].find(
        ([id, routes]) => board.active.has(id) && routes.includes('0.0.0.0/0'),
      )
      return found === undefined
        ? undefined
        : { peerId: found[0], name: board.names.get(found[0]) ?? found[0] }
    },
    offered: () => context.config.advertise,
    direct: (pools) => {
      const all = members.list()
      const own = all.find(({ isSelf }) => isSelf)?.nodeId ?? ''
      const takesAll = (peerId: string): boolean => {
        const member = all.find(({ nodeId }) => nodeId === board.nodes.get(peerId))
        const taken = (member?.wireguard?.takes ?? []).flatMap((text) => {
          const [nodeId, cidr = ''] = text.split(' ')
          return nodeId === own ? (parseCidr(cidr) ?? []) : []
        })
        return pools.every((pool) => {
          const network = parseCidr(pool)
          return network !== undefined && taken.some((one) => contains(one, network))
        })
      }
      return [...board.serving]
        .filter(([peerId]) => board.active.has(peerId) && takesAll(peerId))
        .flatMap(([, routes]) => routes.filter((cidr) => cidr !== '0.0.0.0/0'))
    },
    onChange: board.changes.listen,
  }
}

/** `POST /v1/peers/{id}/approve`: which of the routes that a peer advertises are used. */
function approveRoute(parts: PeersParts): Route {
  const { context, board } = parts
  return route<PeerParams, unknown, { readonly routes: readonly string[] }>({
    method: 'POST',
    path: '/v1/peers/:id/approve',
    role: 'operator',
    summary: 'Approve the routes of a peer',
    description:
      'The list replaces what was approved; an empty one takes all of it back. To approve anything the policy must say mesh.allow_route_advertise. A network that several peers have is routed to one of them that is active.',
    example: { routes: ['10.20.0.0/16'] },
    schema: {
      params: PEER_PARAMS,
      body: recordSchema({ routes: ROUTES_SCHEMA }),
      response: PEER_SCHEMA,
    },
    errors: ['peer_not_found', 'validation_failed', 'node_state_conflict', 'store_corrupt'],
    audit: 'peer.approve',
    handle: async (request) => {
      const { id } = request.params
      const { routes } = request.body
      return await request.mutate(id, async (tx) => {
        const rows = await allPeers(tx)
        const row = await PEERS.find(tx, { id })
        if (row === undefined || row.removed_at_ms !== null) throw peerNotFound(id)
        if (routes.length > 0 && !isAdvertisingAllowed(parts))
          throw nodeStateConflict(
            'routes cannot be approved while mesh.allow_route_advertise is false; set it in the policy',
          )
        const advertised = listOf(row.advertised)
        const unknown = routes.flatMap((text, index): readonly ErrorDetail[] =>
          advertised.includes(spelled(text))
            ? []
            : [{ pointer: `/routes/${index}`, message: 'is not advertised by this peer' }],
        )
        const host = row.endpoint === null ? undefined : parseEndpoint(row.endpoint)?.host
        const isNew = routes.map((text) => !listOf(row.approved).includes(spelled(text)))
        const wrong = routeDetails(parts, routes, rows, { endpoint: host, ownId: id }).filter(
          ({ pointer }) => isNew[Number(pointer.split('/').at(-1))] ?? true,
        )
        const details = [...unknown, ...wrong]
        if (details.length > 0) throw fieldsRefused(details)
        const approved = {
          ...row,
          approved: JSON.stringify(routes.map(spelled)),
          changed_at_ms: context.clock.nowMs(),
        }
        await PEERS.put(tx, approved)
        tx.audit({ detail: { name: row.name, routes } })
        tx.event({ type: 'peer.approve', subject: id, data: { name: row.name, routes } })
        tx.dirty(LINK_RESOURCE, LINK_KEY, true)
        return { body: peerRecord(approved, board, context.config.enabled) }
      })
    },
  })
}

/** `POST /v1/peers/{id}/accept`: a node that was heard of by mDNS becomes a peer. */
function acceptRoute(parts: PeersParts): Route {
  const { context, board, suggestions } = parts
  return route<PeerParams, unknown, unknown>({
    method: 'POST',
    path: '/v1/peers/:id/accept',
    role: 'operator',
    summary: 'Accept a suggested peer',
    description:
      'Compare its fingerprint first. The node is asked over TLS: only one with the announced certificate, below the CA of this mesh, becomes a peer. Its routes wait for approval.',
    schema: { params: PEER_PARAMS, body: objectSchema({}), response: PEER_SCHEMA },
    errors: ['peer_not_found', 'peer_exists', 'peer_untrusted', 'validation_failed', 'store_corrupt'],
    audit: 'peer.accept',
    handle: async (request) => {
      const { id } = request.params
      const heard = suggestions.get(id)
      if (heard === undefined) throw peerNotFound(id)
      const node = await suggestions.confirm(id, request.signal)
      if (!isKey(node.wireguard.public_key))
        throw fieldRefused('/public_key', 'that the node tells is no key of WireGuard')
      return await request.mutate(id, async (tx) => {
        const rows = await allPeers(tx)
        const row = acceptedRow(rows, heard, node, context.clock.nowMs())
        await PEERS.put(tx, row)
        tx.audit({
          target: row.id,
          detail: { name: row.name, fingerprint: heard.fingerprint, node_id: node.nodeId },
        })
        tx.event({ type: 'peer.accept', subject: row.id, data: { name: row.name } })
        tx.dirty(LINK_RESOURCE, LINK_KEY, true)
        return { body: peerRecord(row, board, context.config.enabled) }
      })
    },
  })
}

function acceptedRow(
  rows: readonly PeerRow[],
  heard: Suggestion,
  { nodeId, name, wireguard }: ConfirmedNode,
  nowMs: number,
): PeerRow {
  const before = rows.find((row) => row.node_id === nodeId || row.public_key === wireguard.public_key)
  if (before !== undefined && before.removed_at_ms === null)
    throw peerExists(`${before.name} (${before.id}) is this node; name another one`)
  const isTaken = rows.some((row) => row.name === name && row.removed_at_ms === null)
  const endpoint = wireguard.endpoint === null ? undefined : parseHostPort(wireguard.endpoint)
  return {
    ...newRow(nowMs, before),
    name: isTaken ? `${name}-${nodeId.slice(0, 8)}` : name,
    source: 'mdns',
    public_key: wireguard.public_key,
    psk_sealed: before?.psk_sealed ?? null,
    endpoint: endpointText(endpoint ?? { host: heard.address, port: wireguard.listen_port }),
    address: before?.address ?? null,
    advertised: JSON.stringify([
      ...new Set(wireguard.advertised.filter((text) => parseCidr(text) !== undefined).map(spelled)),
    ]),
    node_id: nodeId,
    fingerprint: heard.fingerprint,
  }
}
