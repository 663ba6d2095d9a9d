import { type JsonSchema, objectSchema } from '@steeple/contracts'
import type { Suggestion } from '../suggestions.ts'
import { endpointText, parseEndpoint, parseHostPort } from './endpoint.ts'
import { type HandshakeState, linkState, type PeerState } from './handshake-state.ts'
import type { Board } from './parts.ts'
import { listOf, type PeerRow } from './peer-store.ts'

const TEXT: JsonSchema = { type: 'string' }
const MAYBE_TEXT: JsonSchema = { type: ['string', 'null'] }
const COUNT: JsonSchema = { type: 'integer', minimum: 0 }
const ROUTES: JsonSchema = { type: 'array', items: TEXT }

/** The peer record: specification, "Peer record"; contract section 9. */
export const PEER_SCHEMA: JsonSchema = objectSchema(
  {
    id: TEXT,
    name: TEXT,
    state: {
      type: 'string',
      description:
        'suggested, pending (never a handshake), active (handshake < 180 s old), stale, removed. More may come.',
    },
    source: { type: 'string', description: 'static, mdns, mesh. More may come.' },
    endpoint: {
      ...MAYBE_TEXT,
      description: 'wg://host:port; null: it is not known, the peer comes by itself.',
    },
    public_key: MAYBE_TEXT,
    next_public_key: { ...MAYBE_TEXT, description: 'The key that the peer goes over to.' },
    handshake_age_s: { type: ['integer', 'null'], minimum: 0 },
    routes: { ...ROUTES, description: 'The same as serving.' },
    advertised: { ...ROUTES, description: 'What the peer offers to carry.' },
    approved: { ...ROUTES, description: 'What of it an operator has approved.' },
    serving: { ...ROUTES, description: 'What is routed to it now.' },
    address: { ...MAYBE_TEXT, description: 'Its own address in the overlay.' },
    rx_bytes: COUNT,
    tx_bytes: COUNT,
    rtt_ms: {
      type: ['number', 'null'],
      description: 'Of the last echo through the link; null when none came back.',
    },
    keepalive_s: COUNT,
    reason: { ...MAYBE_TEXT, description: 'Why it is not active.' },
    last_endpoint: { ...MAYBE_TEXT, description: 'Where its packets came from last.' },
    disabled: { type: 'boolean' },
    has_preshared_key: { type: 'boolean' },
    node_id: MAYBE_TEXT,
    fingerprint: { ...MAYBE_TEXT, description: "SHA-256 of a suggested node's certificate." },
  },
  ['id', 'name', 'state', 'source', 'endpoint', 'handshake_age_s', 'routes'],
)

/** The state of a peer now. */
export function stateOf(row: PeerRow, board: Board): PeerState {
  if (row.removed_at_ms !== null) return 'removed'
  return board.isUp ? linkState(board.handshakeStates.of(row.public_key)) : 'pending'
}

/** A peer as the API shows it. Nothing of its preshared key is in it. */
export function peerRecord(row: PeerRow, board: Board, isEnabled: boolean): object {
  const handshakeState = row.removed_at_ms === null ? board.handshakeStates.of(row.public_key) : undefined
  const state = stateOf(row, board)
  const serving = row.removed_at_ms === null ? (board.serving.get(row.id) ?? []) : []
  const last =
    handshakeState?.lastEndpoint === undefined ? undefined : parseHostPort(handshakeState.lastEndpoint)
  return {
    id: row.id,
    name: row.name,
    state,
    source: row.source,
    endpoint: row.endpoint,
    public_key: row.public_key,
    next_public_key: row.next_key,
    handshake_age_s: handshakeState?.handshakeAgeS ?? null,
    routes: serving,
    advertised: listOf(row.advertised),
    approved: listOf(row.approved),
    serving,
    address: row.address,
    rx_bytes: handshakeState?.rxBytes ?? 0,
    tx_bytes: handshakeState?.txBytes ?? 0,
    rtt_ms: state === 'active' ? (board.rtt.get(row.id) ?? null) : null,
    keepalive_s: row.keepalive_s,
    reason: state === 'active' ? null : reasonOf(row, handshakeState, state, board, isEnabled),
    last_endpoint: last === undefined ? null : endpointText(last),
    disabled: row.removed_at_ms !== null,
    has_preshared_key: row.psk_sealed !== null,
    node_id: row.node_id,
    fingerprint: row.fingerprint,
  }
}

/** A node that was heard of and nothing more. */
export function suggestionRecord(one: Suggestion): object {
  return {
    id: one.id,
    name: one.name,
    state: 'suggested',
    source: 'mdns',
    endpoint: null,
    public_key: null,
    next_public_key: null,
    handshake_age_s: null,
    routes: [],
    advertised: [],
    approved: [],
    serving: [],
    address: null,
    rx_bytes: 0,
    tx_bytes: 0,
    rtt_ms: null,
    keepalive_s: 0,
    reason: `heard at ${one.address} port ${one.port}, says that it is of the mesh ${one.meshName}: compare the fingerprint, then accept it`,
    last_endpoint: null,
    disabled: false,
    has_preshared_key: false,
    node_id: one.nodeId,
    fingerprint: one.fingerprint,
  }
}

function reasonOf(
  row: PeerRow,
  handshakeState: HandshakeState | undefined,
  state: PeerState,
  board: Board,
  isEnabled: boolean,
): string {
  if (state === 'removed')
    return row.removed_by === 'mesh' ? 'its node is no member of the mesh' : 'an operator has removed it'
  if (!isEnabled) return 'peering.enabled is false'
  if (board.problem !== undefined) return board.problem
  if (state === 'stale')
    return `the last handshake was ${handshakeState?.handshakeAgeS} s ago, and it does not answer`
  const endpoint = row.endpoint === null ? undefined : parseEndpoint(row.endpoint)
  if (endpoint === undefined) return 'its endpoint is not known; it has to come by itself, and has not yet'
  if (board.unresolved.has(endpoint.host)) return `the name ${endpoint.host} has no address`
  return `no handshake yet: nothing fitting has come from ${row.endpoint}; check endpoint, firewall, and that it has this node's public key`
}
