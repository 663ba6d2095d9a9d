import type { Migration } from '@steeple/contracts'
import { defineTable, type Table } from '@steeple/contracts'

/** A node that is or was in the mesh whose root this node is. Never removed: its address is nobody else's. */
export interface MemberRow {
  readonly node_id: string
  readonly name: string
  /** Grows by one with each new node; 1 is the root. */
  readonly number: number
  /** IPv4. */
  readonly overlay_address: string
  /** SHA-256 of its SubjectPublicKeyInfo, hexadecimal: who comes back is known by its key. */
  readonly key_sha256: string
  /** `host:port` at which it says that its API answers. */
  readonly address: string | null
  /** IP address from which it was last seen. Observed. */
  readonly seen_address: string | null
  /** JSON of `PublishedWireguard`. */
  readonly wireguard: string | null
  readonly joined_at_ms: number
  readonly left_at_ms: number | null
}
export const MEMBERS: Table<MemberRow> = defineTable<MemberRow>(
  'mesh_member',
  [
    'node_id',
    'name',
    'number',
    'overlay_address',
    'key_sha256',
    'address',
    'seen_address',
    'wireguard',
    'joined_at_ms',
    'left_at_ms',
  ],
  ['node_id'],
)

/** A certificate that this node's CA issued to a member. */
export interface CertificateRow {
  /** As `IssuedCertificate.serial`. */
  readonly serial: string
  readonly node_id: string
  readonly pem: string
  readonly issued_at_ms: number
  readonly expires_at_ms: number
  readonly revoked_at_ms: number | null
}
export const CERTIFICATES: Table<CertificateRow> = defineTable<CertificateRow>(
  'mesh_certificate',
  ['serial', 'node_id', 'pem', 'issued_at_ms', 'expires_at_ms', 'revoked_at_ms'],
  ['serial'],
)

/** A value that has no table of its own: counters of the root, and what a member has learnt. */
export interface NoteRow {
  readonly name: string
  readonly value: string
}
export const NOTES: Table<NoteRow> = defineTable<NoteRow>('mesh_note', ['name', 'value'], ['name'])

/** Tables of enrollment; see README. */
export const MIGRATIONS: readonly Migration[] = [
  {
    id: '0001_members',
    up: [
      `create table mesh_member (
        node_id text primary key,
        name text not null,
        number integer not null,
        overlay_address text not null,
        key_sha256 text not null,
        address text,
        seen_address text,
        wireguard text,
        joined_at_ms bigint not null,
        left_at_ms bigint,
        row_sum bigint not null
      )`,
      'create unique index mesh_member_number on mesh_member (number)',
      'create unique index mesh_member_overlay on mesh_member (overlay_address)',
      `create table mesh_certificate (
        serial text primary key,
        node_id text not null,
        pem text not null,
        issued_at_ms bigint not null,
        expires_at_ms bigint not null,
        revoked_at_ms bigint,
        row_sum bigint not null
      )`,
      'create index mesh_certificate_node on mesh_certificate (node_id, issued_at_ms)',
      `create table mesh_note (
        name text primary key,
        value text not null,
        row_sum bigint not null
      )`,
    ],
  },
]
