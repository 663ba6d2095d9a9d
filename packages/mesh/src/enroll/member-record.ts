import {
  type JsonSchema,
  NODE_ID_SCHEMA,
  objectSchema,
  TIMESTAMP_SCHEMA,
  timestampFromMs,
} from '@steeple/contracts'
import type { Member, PublishedWireguard } from '../members.ts'
import { hostPort } from '../peers/endpoint.ts'
import { WIREGUARD_KEY_PATTERN } from '../shapes.ts'
import { ownAddress } from './own-names.ts'
import { type EnrollParts, ownMeshName } from './parts.ts'
import type { MemberRow } from './store.ts'

/** A member as `GET /v1/mesh/members` shows it. */
export interface MemberRecord {
  readonly node_id: string
  readonly name: string
  readonly is_root: boolean
  readonly overlay_address: string
  readonly address: string | null
  readonly joined_at: string
  readonly wireguard: PublishedWireguard | null
  /** Of its certificates that have not ended; absent from a root of an earlier version. */
  readonly serials?: readonly string[]
}

/** The mesh as its root tells it. */
export interface MeshView {
  readonly mesh: { readonly name: string; readonly root_node_id: string }
  readonly subnet: string
  readonly revision: number
  readonly members: readonly MemberRecord[]
}

const KEY: JsonSchema = { type: 'string', pattern: WIREGUARD_KEY_PATTERN }
const MOST_PREPARED = 4_096
const MOST_TAKEN = 4_096

/** Schema of what a member tells of its WireGuard. */
export const WIREGUARD_SCHEMA: JsonSchema = objectSchema(
  {
    public_key: KEY,
    next_public_key: { type: ['string', 'null'], pattern: WIREGUARD_KEY_PATTERN },
    prepared: { type: 'array', maxItems: MOST_PREPARED, items: KEY },
    endpoint: {
      type: ['string', 'null'],
      maxLength: 300,
      description: 'host:port; null: where the root sees the node come from, with listen_port.',
    },
    listen_port: { type: 'integer', minimum: 1, maximum: 65_535 },
    advertised: { type: 'array', maxItems: 256, items: { type: 'string', maxLength: 64 } },
    takes: {
      type: 'array',
      maxItems: MOST_TAKEN,
      items: { type: 'string', pattern: '^[0-9a-f-]{36} [0-9a-f.:/]{9,43}$' },
      description:
        'What the node routes to members now: the id of the member and the network, with a space between.',
    },
  },
  ['public_key', 'listen_port', 'advertised'],
)

/** Schema of a member. */
export const MEMBER_SCHEMA: JsonSchema = objectSchema(
  {
    node_id: NODE_ID_SCHEMA,
    name: { type: 'string' },
    is_root: { type: 'boolean' },
    overlay_address: { type: 'string' },
    address: { type: ['string', 'null'], description: 'Where its API answers, host:port.' },
    joined_at: TIMESTAMP_SCHEMA,
    wireguard: { anyOf: [WIREGUARD_SCHEMA, { type: 'null' }] },
    serials: {
      type: 'array',
      items: { type: 'string' },
      description: 'Of its certificates: who hears that all of them are revoked knows that it is out.',
    },
  },
  ['node_id', 'name', 'is_root', 'overlay_address', 'address', 'joined_at', 'wireguard'],
)

/** Records of the members of a root, by id, as of a stamp of its list and an address of its own. */
interface Known {
  readonly at: string
  readonly byId: ReadonlyMap<string, MemberRecord>
}

const KNOWN = new WeakMap<EnrollParts, Known>()

/** They are made once for all who ask: in a mesh of a thousand each asks after each change. */
function recordsOf(parts: EnrollParts): Known['byId'] {
  const { memberList, context } = parts
  const at = `${memberList.stamp()} ${ownAddress(context)}`
  const known = KNOWN.get(parts)
  if (known?.at === at) return known.byId
  const byId = new Map(memberList.members().map((row) => [row.node_id, recordOf(parts, row)]))
  KNOWN.set(parts, { at, byId })
  return byId
}

/** The mesh whose root this node is. */
export function rootView(parts: EnrollParts): MeshView {
  return { ...headOf(parts), members: [...recordsOf(parts).values()] }
}

/** What of it came or changed after a revision of this root's list, and who left. The root itself is always in it. */
export function rootChanges(
  parts: EnrollParts,
  after: number,
): MeshView & { readonly gone: readonly string[] } {
  const { memberList, node } = parts
  const ids = new Set([node.nodeId, ...memberList.changedAfter(after)])
  const records = recordsOf(parts)
  return {
    ...headOf(parts),
    members: [...ids].flatMap((id) => records.get(id) ?? []),
    gone: [...ids].filter((id) => !records.has(id) && memberList.member(id) !== undefined),
  }
}

function headOf(parts: EnrollParts): Omit<MeshView, 'members'> {
  const { context, node, memberList } = parts
  return {
    mesh: { name: ownMeshName(parts), root_node_id: node.nodeId },
    subnet: context.config.subnet,
    revision: memberList.revision(),
  }
}

function recordOf({ context, node, memberList }: EnrollParts, row: MemberRow): MemberRecord {
  const record = { ...memberRecord(row, node.nodeId), serials: memberList.serials(row.node_id) }
  return record.is_root ? { ...record, address: ownAddress(context) ?? null } : record
}

function memberRecord(row: MemberRow, rootNodeId: string): MemberRecord {
  return {
    node_id: row.node_id,
    name: row.name,
    is_root: row.node_id === rootNodeId,
    overlay_address: row.overlay_address,
    address: row.address,
    joined_at: timestampFromMs(row.joined_at_ms),
    wireguard: row.wireguard === null ? null : reachable(wireguardFrom(row.wireguard), row.seen_address),
  }
}

/** The record that was stored by this module. */
export function wireguardFrom(json: string): PublishedWireguard {
  return JSON.parse(json) as PublishedWireguard
}

/** With the endpoint at which the node was seen, where it names none. */
function reachable(record: PublishedWireguard, seen: string | null): PublishedWireguard {
  if (record.endpoint !== null || seen === null) return record
  return { ...record, endpoint: hostPort({ host: seen, port: record.listen_port }) }
}

/** What the other parts of the plugin know of a member. */
export function memberFrom(record: MemberRecord, ownNodeId: string): Member {
  return {
    nodeId: record.node_id,
    name: record.name,
    isRoot: record.is_root,
    isSelf: record.node_id === ownNodeId,
    overlayAddress: record.overlay_address,
    wireguard: record.wireguard ?? undefined,
  }
}

/** Each field, in one order: the same text for the same. */
export function wireguardRecord(told: PublishedWireguard): PublishedWireguard {
  return {
    public_key: told.public_key,
    next_public_key: told.next_public_key,
    prepared: told.prepared,
    endpoint: told.endpoint,
    listen_port: told.listen_port,
    advertised: told.advertised,
    takes: told.takes ?? [],
  }
}
