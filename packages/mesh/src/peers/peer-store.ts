import { defineTable, type Migration, type Reader, type Table } from '@steeple/contracts'

/** Where a peer comes from: an operator, what was heard by mDNS, or the list of members. */
type PeerSource = 'static' | 'mdns' | 'mesh'

/** One peer as it is wanted. Times in ms since the epoch. */
export interface PeerRow {
  /** `p-` and 16 hexadecimal digits. */
  readonly id: string
  readonly name: string
  readonly source: PeerSource
  readonly public_key: string
  /** The key that it is going over to. */
  readonly next_key: string | null
  /** The key that it had before: still this service's to remove. */
  readonly former_key: string | null
  /** AAD `mesh_peer/<id>`. */
  readonly psk_sealed: Uint8Array | null
  /** `wg://host:port`; null: it comes by itself. */
  readonly endpoint: string | null
  readonly keepalive_s: number
  /** Its own address in the overlay. */
  readonly address: string | null
  /** JSON lists of CIDR. */
  readonly advertised: string
  readonly approved: string
  /** Of a member. */
  readonly node_id: string | null
  /** SHA-256 of the certificate of a node that was heard of by mDNS and accepted. */
  readonly fingerprint: string | null
  /** Null while it is wanted. */
  readonly removed_at_ms: number | null
  /** `operator`: stays away until an operator adds it again; `mesh`: its node is no member now. */
  readonly removed_by: 'operator' | 'mesh' | null
  readonly created_at_ms: number
  readonly changed_at_ms: number
}

/** Peers, those that were removed too: what was made for them is known as this service's. */
export const PEERS: Table<PeerRow> = defineTable<PeerRow>(
  'mesh_peer',
  [
    'id',
    'name',
    'source',
    'public_key',
    'next_key',
    'former_key',
    'psk_sealed',
    'endpoint',
    'keepalive_s',
    'address',
    'advertised',
    'approved',
    'node_id',
    'fingerprint',
    'removed_at_ms',
    'removed_by',
    'created_at_ms',
    'changed_at_ms',
  ],
  ['id'],
)

/** Tables of this part; see README. */
export const PEER_MIGRATIONS: readonly Migration[] = [
  {
    id: '0101_peer',
    up: [
      `create table mesh_peer (
        id text primary key,
        name text not null,
        source text not null,
        public_key text not null,
        next_key text,
        former_key text,
        psk_sealed bytea,
        endpoint text,
        keepalive_s integer not null,
        address text,
        advertised text not null,
        approved text not null,
        node_id text,
        fingerprint text,
        removed_at_ms bigint,
        removed_by text,
        created_at_ms bigint not null,
        changed_at_ms bigint not null,
        row_sum bigint not null
      )`,
      'create unique index mesh_peer_key on mesh_peer (public_key)',
      'create index mesh_peer_name on mesh_peer (name, id)',
    ],
  },
]

/** More peers than one box can sensibly have. */
export const MAX_PEERS = 2_000

/** All of them in the order of their making, removed ones too. */
export async function allPeers(reader: Reader): Promise<readonly PeerRow[]> {
  return await PEERS.select(reader, 'order by created_at_ms, id')
}

/** Those that are wanted, in the order of their making. */
export async function wantedPeers(reader: Reader): Promise<readonly PeerRow[]> {
  return await PEERS.select(reader, 'where removed_at_ms is null order by created_at_ms, id')
}

/** A page of those that are wanted (or of the removed ones), by name. */
export async function peersAfter(
  reader: Reader,
  {
    isRemoved,
    ...behind
  }: { readonly isRemoved: boolean; readonly name: string; readonly id: string; readonly limit: number },
): Promise<readonly PeerRow[]> {
  const rest = 'and (name > :name or (name = :name and id > :id)) order by name, id limit :limit'
  return await PEERS.select(
    reader,
    `where removed_at_ms is ${isRemoved ? 'not null' : 'null'} ${rest}`,
    behind,
  )
}

/** CIDR of a column. */
export function listOf(column: string): readonly string[] {
  // Written by this package as a list of texts, and covered by the row's sum.
  return JSON.parse(column) as readonly string[]
}
