import type { Migration } from '@steeple/contracts'

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
