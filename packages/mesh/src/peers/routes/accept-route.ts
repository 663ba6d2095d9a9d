import { objectSchema, peerExists, peerNotFound, type Route, route } from '@steeple/contracts'
import type { ConfirmedNode, Suggestion } from '../../suggestions.ts'
import { isKey } from '../../wireguard/keys.ts'
import { parseCidr } from '../cidr.ts'
import { endpointText, parseHostPort } from '../endpoint.ts'
import { newPeerId } from '../follow-members.ts'
import { KEEPALIVE_S, LINK_KEY, LINK_RESOURCE, type PeersParts } from '../parts.ts'
import { allPeers, PEERS, type PeerRow } from '../peer-store.ts'
import { PEER_SCHEMA, peerRecord } from '../record.ts'
import { spelled } from '../reserved-networks.ts'
import { refuse } from './bodies.ts'
import { PEER_PARAMS, type PeerParams } from './peer-routes.ts'

/** `POST /v1/peers/{id}/accept`: a node that was heard of by mDNS becomes a peer. */
export function acceptRoute(parts: PeersParts): Route {
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
      if (!isKey(node.wireguard.publicKey))
        refuse([{ pointer: '/public_key', message: 'that the node tells is no key of WireGuard' }])
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
  const before = rows.find((row) => row.node_id === nodeId || row.public_key === wireguard.publicKey)
  if (before !== undefined && before.removed_at_ms === null)
    throw peerExists(`${before.name} (${before.id}) is this node`)
  const isTaken = rows.some((row) => row.name === name && row.removed_at_ms === null)
  const endpoint = wireguard.endpoint === undefined ? undefined : parseHostPort(wireguard.endpoint)
  return {
    id: before?.id ?? newPeerId(),
    name: isTaken ? `${name}-${nodeId.slice(0, 8)}` : name,
    source: 'mdns',
    public_key: wireguard.publicKey,
    next_key: null,
    former_key: before?.former_key ?? null,
    psk_sealed: before?.psk_sealed ?? null,
    endpoint: endpointText(endpoint ?? { host: heard.address, port: wireguard.listenPort }),
    keepalive_s: KEEPALIVE_S,
    address: before?.address ?? null,
    advertised: JSON.stringify([
      ...new Set(wireguard.advertised.filter((text) => parseCidr(text) !== undefined).map(spelled)),
    ]),
    approved: '[]',
    node_id: nodeId,
    fingerprint: heard.fingerprint,
    removed_at_ms: null,
    removed_by: null,
    created_at_ms: before?.created_at_ms ?? nowMs,
    changed_at_ms: nowMs,
  }
}
