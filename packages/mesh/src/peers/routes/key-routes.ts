import {
  fieldRefused,
  type JsonSchema,
  nodeStateConflict,
  objectSchema,
  ok,
  peerExists,
  peerNotFound,
  type Route,
  recordSchema,
  route,
} from '@steeple/contracts'
import { isKey } from '../../wireguard/keys.ts'
import { waitingFor } from '../own-key.ts'
import { KEY_RESOURCE, LINK_KEY, LINK_RESOURCE, type PeersParts } from '../parts.ts'
import { allPeers, PEERS, wantedPeers } from '../peer-store.ts'
import { PEER_SCHEMA, peerRecord } from '../record.ts'
import { KEY_SCHEMA, PEER_PARAMS, type PeerParams } from './peer-routes.ts'

const MAYBE_TEXT: JsonSchema = { type: ['string', 'null'] }
const SELF_SCHEMA: JsonSchema = objectSchema(
  {
    interface: { type: 'string' },
    listen_port: { type: 'integer' },
    address: { ...MAYBE_TEXT, description: "This node's address in the overlay." },
    public_key: MAYBE_TEXT,
    next_public_key: { ...MAYBE_TEXT, description: 'The key that this node goes over to.' },
    waiting_for: {
      type: 'array',
      items: { type: 'string' },
      description: 'Names of active peers that do not know the next key, as far as can be known.',
    },
    problem: { ...MAYBE_TEXT, description: 'Why links cannot be made.' },
    foreign_peers: { type: 'integer', description: 'Peers on the interface that this service did not make.' },
  },
  ['interface', 'listen_port', 'public_key', 'next_public_key', 'waiting_for', 'problem'],
)

interface RotateBody {
  readonly force?: boolean
}
interface PeerKeyBody {
  readonly public_key: string
}

/** This node's own key, its rotation, and that of a peer. */
export function keyRoutes(parts: PeersParts): readonly Route[] {
  return [
    route<unknown, unknown, unknown>({
      method: 'GET',
      path: '/v1/peers/self',
      role: 'viewer',
      summary: 'Show what another box must know about this one to be its peer',
      description: 'Public key, endpoint and routes, as POST /v1/peers of the other box takes them.',
      schema: { response: SELF_SCHEMA },
      errors: ['store_corrupt'],
      handle: async () => ok(await selfRecord(parts)),
    }),
    rotateRoute(parts),
    peerKeyRoute(parts),
  ]
}

function rotateRoute(parts: PeersParts): Route {
  const { key } = parts
  return route<unknown, unknown, RotateBody>({
    method: 'POST',
    path: '/v1/peers/rotate',
    role: 'operator',
    summary: "Change this node's WireGuard key without losing a link",
    description:
      'Makes the next key. Members of the mesh prepare for it by themselves; then this node changes to it. For a peer ' +
      'that was added by hand, prepare its side (POST /v1/peers/{id}/rotate there), then send force. Repeat the request ' +
      'to see its progress.',
    example: {},
    schema: {
      body: objectSchema({
        force: { type: 'boolean', description: 'Change now, even if some peers do not know the key.' },
      }),
      response: SELF_SCHEMA,
    },
    errors: ['southbound_unavailable', 'store_corrupt'],
    audit: 'peer.rotate',
    handle: async (request) => {
      const next = await key.begin()
      return await request.mutate('self', async (tx) => {
        tx.audit({ detail: { next_public_key: next, force: request.body.force === true } })
        tx.event({ type: 'peer.rotate', subject: 'self', data: { next_public_key: next } })
        tx.dirty(LINK_RESOURCE, LINK_KEY, true)
        if (request.body.force === true) await key.change()
        return { body: await selfRecord(parts) }
      })
    },
  })
}

function peerKeyRoute(parts: PeersParts): Route {
  const { context, board } = parts
  return route<PeerParams, unknown, PeerKeyBody>({
    method: 'POST',
    path: '/v1/peers/:id/rotate',
    role: 'operator',
    summary: 'Prepare for the next key of a peer',
    description:
      'The link goes on with the present key until the peer uses the next one, which is followed within a second. For peers that were added by hand; members of the mesh tell their keys themselves.',
    example: { public_key: 'xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg=' },
    schema: {
      params: PEER_PARAMS,
      body: recordSchema({ public_key: KEY_SCHEMA }),
      response: PEER_SCHEMA,
    },
    errors: ['peer_not_found', 'peer_exists', 'node_state_conflict', 'validation_failed', 'store_corrupt'],
    audit: 'peer.next_key',
    handle: async (request) => {
      const { id } = request.params
      const { public_key: nextKey } = request.body
      if (!isKey(nextKey)) throw fieldRefused('/public_key', 'must be a key of WireGuard')
      return await request.mutate(id, async (tx) => {
        const rows = await allPeers(tx)
        const row = await PEERS.find(tx, { id })
        if (row === undefined || row.removed_at_ms !== null) throw peerNotFound(id)
        if (row.source === 'mesh')
          throw nodeStateConflict(
            `${row.name} is a member of the mesh and sends its keys itself; change them there`,
          )
        const other = rows.find((one) => one.id !== id && [one.public_key, one.next_key].includes(nextKey))
        if (other !== undefined)
          throw peerExists(`the peer ${other.name} (${other.id}) has this public key; make another one`)
        const isSame = row.public_key === nextKey
        const changed = { ...row, next_key: isSame ? null : nextKey, changed_at_ms: context.clock.nowMs() }
        await PEERS.put(tx, changed)
        tx.audit({ detail: { name: row.name, next_public_key: nextKey } })
        tx.event({ type: 'peer.next_key', subject: id, data: { name: row.name } })
        tx.dirty(LINK_RESOURCE, LINK_KEY, true)
        tx.dirty(KEY_RESOURCE, id)
        return { body: peerRecord(changed, board, context.config.enabled) }
      })
    },
  })
}

async function selfRecord(parts: PeersParts): Promise<object> {
  const { context, board, key, members } = parts
  const next = await key.next()
  const wanted = next === undefined ? [] : await wantedPeers(context.db)
  return {
    interface: context.config.interface,
    listen_port: context.config.listen_port,
    address: members.overlay()?.address ?? null,
    public_key: context.config.enabled ? await key.present() : null,
    next_public_key: next ?? null,
    waiting_for: next === undefined ? [] : waitingFor(parts, wanted, next).map(({ name }) => name),
    problem: context.config.enabled ? (board.problem ?? null) : 'peering.enabled is false',
    foreign_peers: board.foreign.length,
  }
}
