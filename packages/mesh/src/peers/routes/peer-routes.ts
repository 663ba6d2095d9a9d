import {
  capacityExceeded,
  type ErrorDetail,
  fieldsRefused,
  type JsonSchema,
  type MutationTx,
  NAME_PATTERN,
  nodeCredentialsRef,
  objectSchema,
  ok,
  PAGE_QUERY,
  type Page,
  pageFrom,
  pageSchema,
  peerExists,
  peerNotFound,
  type Route,
  recordSchema,
  route,
} from '@steeple/contracts'
import type { Suggestion } from '../../suggestions.ts'
import { isKey } from '../../wireguard/keys.ts'
import { hostCidr, isHost, parseCidr } from '../cidr.ts'
import { type Endpoint, endpointText, parseEndpoint } from '../endpoint.ts'
import { newRow } from '../follow-members.ts'
import { KEEPALIVE_S, LINK_KEY, LINK_RESOURCE, type PeersParts } from '../parts.ts'
import { allPeers, MAX_PEERS, PEERS, type PeerRow, peersAfter } from '../peer-store.ts'
import { PEER_SCHEMA, peerRecord, suggestionRecord } from '../record.ts'
import {
  heldAddresses,
  isAdvertisingAllowed,
  overlayNetwork,
  overlayProblem,
  peerNetworks,
  reservedNetworks,
  routeProblems,
  spelled,
} from '../reserved-networks.ts'

/** The body of `POST /v1/peers`. Contract section 9. */
interface AddBody {
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
const PEER_NAME_SCHEMA: JsonSchema = {
  type: 'string',
  minLength: 1,
  maxLength: 64,
  pattern: NAME_PATTERN,
}

/** Checks a body that adds a peer. Throws `validation_failed`; a key is never in a message. */
function checkAdd(parts: PeersParts, body: AddBody, rows: readonly PeerRow[]): Endpoint {
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
  if (details.length > 0) throw fieldsRefused(details)
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
function addressIn(routes: readonly string[]): string | null {
  const host = routes.find((text) => {
    const cidr = parseCidr(text)
    return cidr !== undefined && isHost(cidr)
  })
  const address = host?.split('/')[0] ?? ''
  return hostCidr(address) === undefined ? null : address
}

/** The parameter of the routes of one peer. */
export interface PeerParams {
  readonly id: string
}
/**
 * Schema of the parameter `{id}`: the forms of a peer's id and of a suggestion's, so that no key or token that is pasted in
 * its place gets into the audit trail.
 */
export const PEER_PARAMS: JsonSchema = recordSchema({
  id: { type: 'string', pattern: '^(p-[0-9a-f]{1,16}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$' },
})

interface ListQuery {
  readonly removed?: boolean
}

const ADD_BODY = objectSchema(
  {
    name: PEER_NAME_SCHEMA,
    endpoint: { type: 'string', maxLength: 270, description: 'wg://host:port' },
    public_key: KEY_SCHEMA,
    routes: {
      ...ROUTES_SCHEMA,
      default: [],
      description: 'Networks behind the peer; none when absent. The first single address is its own.',
    },
    preshared_key: KEY_SCHEMA,
    keepalive_s: {
      type: 'integer',
      minimum: 1,
      maximum: 65_535,
      description: `Seconds; ${KEEPALIVE_S} when absent. Without traffic a link without it would go stale.`,
    },
  },
  ['name', 'endpoint', 'public_key'],
)
const EXAMPLE = {
  name: 'north',
  endpoint: 'wg://north.example.net:51820',
  public_key: 'xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg=',
  routes: ['10.20.0.0/16'],
}

/** List, show, add and remove peers. */
export function peerRoutes(parts: PeersParts): readonly Route[] {
  const { context, board } = parts
  return [
    route<unknown, ListQuery, unknown>({
      method: 'GET',
      path: '/v1/peers',
      role: 'viewer',
      summary: 'List the peers: links to other boxes, their routes and health',
      description: 'By name; first the nodes that were heard of and that nobody has accepted.',
      schema: {
        query: objectSchema({
          ...PAGE_QUERY,
          removed: { type: 'boolean', description: 'Those that were removed, instead.' },
        }),
        response: pageSchema('peers', PEER_SCHEMA),
      },
      errors: ['store_corrupt'],
      paged: true,
      handle: async (request) => ok(await pageOf(parts, request.query.removed === true, request.page())),
    }),
    route<PeerParams, unknown, unknown>({
      method: 'GET',
      path: '/v1/peers/:id',
      role: 'viewer',
      summary: 'Show a peer',
      description: 'As in the list, with its routes and why it is not active.',
      schema: { params: PEER_PARAMS, response: PEER_SCHEMA },
      errors: ['peer_not_found', 'store_corrupt'],
      handle: async ({ params }) => {
        const heard = parts.suggestions.get(params.id)
        if (heard !== undefined) return ok(suggestionRecord(heard))
        const row = await PEERS.find(context.db, { id: params.id })
        if (row === undefined) throw peerNotFound(params.id)
        return ok(peerRecord(row, board, context.config.enabled))
      },
    }),
    addRoute(parts),
    removeRoute(parts),
  ]
}

function addRoute(parts: PeersParts): Route {
  const { context, board } = parts
  return route<unknown, unknown, AddBody>({
    method: 'POST',
    path: '/v1/peers',
    role: 'operator',
    summary: 'Add a peer',
    description:
      'Over WireGuard. One that was removed comes back when it is added again by its name or key. A preshared key is sealed and never shown.',
    example: EXAMPLE,
    schema: { body: ADD_BODY, response: PEER_SCHEMA, status: 201 },
    errors: ['validation_failed', 'peer_exists', 'capacity_exceeded', 'store_corrupt'],
    audit: 'peer.add',
    handle: async (request) => {
      const { body } = request
      return await request.mutate(body.name, async (tx) => {
        const row = await addIn(parts, tx, body)
        tx.audit({ target: row.id, detail: { ...plain(body), name: row.name } })
        tx.event({ type: 'peer.add', subject: row.id, data: { name: row.name } })
        tx.dirty(LINK_RESOURCE, LINK_KEY, true)
        return { status: 201, body: peerRecord(row, board, context.config.enabled) }
      })
    },
  })
}

function removeRoute({ context }: PeersParts): Route {
  return route<PeerParams, unknown, unknown>({
    method: 'DELETE',
    path: '/v1/peers/:id',
    role: 'operator',
    summary: 'Remove a peer',
    description:
      'Its link and routes are taken away, its record stays, disabled. A member of the mesh stays away until it is added again.',
    schema: { params: PEER_PARAMS, status: 204 },
    errors: ['peer_not_found', 'store_corrupt'],
    audit: 'peer.remove',
    handle: async (request) => {
      const { id } = request.params
      return await request.mutate(id, async (tx) => {
        const row = await PEERS.find(tx, { id })
        if (row === undefined) throw peerNotFound(id)
        if (row.removed_by !== 'operator') {
          const nowMs = context.clock.nowMs()
          await PEERS.put(tx, {
            ...row,
            removed_at_ms: nowMs,
            removed_by: 'operator',
            changed_at_ms: nowMs,
          })
        }
        tx.audit({ detail: { name: row.name } })
        tx.event({ type: 'peer.remove', subject: id, data: { name: row.name } })
        tx.dirty(LINK_RESOURCE, LINK_KEY, true)
        return { status: 204 }
      })
    },
  })
}

/** What of a body may be written down. */
function plain({ endpoint, public_key, routes, keepalive_s }: AddBody): Readonly<Record<string, unknown>> {
  return { endpoint, public_key, routes, ...(keepalive_s === undefined ? {} : { keepalive_s }) }
}

async function addIn(parts: PeersParts, tx: MutationTx, body: AddBody): Promise<PeerRow> {
  const { context, vault } = parts
  const rows = await allPeers(tx)
  const endpoint = checkAdd(parts, body, rows)
  const sameKey = rows.find(({ public_key, next_key }) => [public_key, next_key].includes(body.public_key))
  const sameName = rows.find(({ name, removed_at_ms }) => name === body.name && removed_at_ms === null)
  if (sameName !== undefined)
    throw peerExists(`a peer is named ${body.name} already (${sameName.id}); choose another name`)
  if (sameKey !== undefined && sameKey.removed_at_ms === null)
    throw peerExists(`the peer ${sameKey.name} (${sameKey.id}) has this public key; make another one`)
  if (rows.filter(({ removed_at_ms }) => removed_at_ms === null).length >= MAX_PEERS)
    throw capacityExceeded(`there are ${MAX_PEERS} peers; remove one`)
  const nowMs = context.clock.nowMs()
  const base = newRow(nowMs, sameKey)
  const routes = JSON.stringify(body.routes.map(spelled))
  const row: PeerRow = {
    ...base,
    name: body.name,
    source: 'static',
    public_key: body.public_key,
    psk_sealed:
      body.preshared_key === undefined
        ? null
        : vault.seal(Buffer.from(body.preshared_key), `mesh_peer/${base.id}`),
    endpoint: endpointText(endpoint),
    keepalive_s: body.keepalive_s ?? KEEPALIVE_S,
    address: addressIn(body.routes),
    advertised: routes,
    approved: routes,
  }
  await PEERS.put(tx, row)
  return row
}

/** Nodes that were heard of and are no peers yet. */
async function unaccepted({ context, suggestions }: PeersParts): Promise<readonly Suggestion[]> {
  const heard = suggestions.list()
  if (heard.length === 0) return []
  const rows = await allPeers(context.db)
  const linked = new Set(rows.filter((row) => row.removed_at_ms === null).map((row) => row.node_id))
  // One that has left the mesh, or was put out of it, comes back by an invitation. Whether it has the root alone knows: a member
  // shows one that says to be in the mesh, and asks it for its certificate when somebody accepts it.
  const mesh = context.maybe(nodeCredentialsRef)?.membership()?.meshName
  const gone = new Set(rows.filter((row) => row.removed_by === 'mesh').map((row) => row.node_id))
  return heard.filter(
    ({ nodeId, meshName }) => !linked.has(nodeId) && !(gone.has(nodeId) && meshName !== mesh),
  )
}

async function pageOf(parts: PeersParts, isRemoved: boolean, page: Page): Promise<object> {
  const { context, board } = parts
  const [name = '', id = ''] = (page.after ?? []).map(String)
  // They are few, in bounds of their own, and belong in front of the first page.
  const heard = isRemoved || page.after !== undefined ? [] : await unaccepted(parts)
  const rows = await peersAfter(context.db, { isRemoved, name, id, limit: page.limit + 1 })
  const record = (row: PeerRow): object => peerRecord(row, board, context.config.enabled)
  const shown = await pageFrom(page, 'peers', rows, record, (row) => [row.name, row.id])
  return { ...shown, peers: [...heard.map(suggestionRecord), ...(shown.peers as readonly object[])] }
}
