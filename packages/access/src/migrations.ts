import type { Migration } from '@steeple/contracts'
import { PEOPLE_MIGRATIONS } from './people/migrations.ts'

export const PASSKEY_MIGRATIONS: readonly Migration[] = [
  {
    id: '0004_passkey',
    up: [
      `create table access_passkey (
        id text primary key,
        user_id text not null,
        rp_id text not null,
        label text not null,
        public_key text not null,
        counter bigint not null,
        transports text not null,
        created_at_ms bigint not null,
        last_used_at_ms bigint,
        disabled_at_ms bigint,
        row_sum bigint not null
      )`,
      'create index access_passkey_user on access_passkey (user_id, created_at_ms, id)',
      `create table access_passkey_used (
        challenge_sha256 text primary key,
        expires_at_ms bigint not null,
        row_sum bigint not null
      )`,
      'create index access_passkey_used_expiry on access_passkey_used (expires_at_ms)',
    ],
  },
]

/** Links, and which credential another one ends with. */
const DERIVED_MIGRATIONS: readonly Migration[] = [
  {
    id: '0005_parents',
    up: [
      'alter table access_token add column parent text',
      'create index access_token_parent on access_token (parent)',
      'alter table access_session add column parent text',
      'create index access_session_parent on access_session (parent)',
      'alter table access_certificate add column parent text',
      'create index access_certificate_parent on access_certificate (parent)',
      'alter table access_invitation add column parent text',
      `create table access_link (
        id text primary key,
        token_sha256 text not null,
        maker text not null,
        parent text not null,
        created_at_ms bigint not null,
        expires_at_ms bigint not null,
        row_sum bigint not null
      )`,
      'create unique index access_link_sha256 on access_link (token_sha256)',
      'create index access_link_parent on access_link (parent, created_at_ms)',
    ],
  },
]

const CERTIFICATE_MIGRATIONS: readonly Migration[] = [
  {
    id: '0003_operator_certificate',
    up: [
      `create table access_certificate (
        serial text primary key,
        user_id text not null,
        name text not null,
        label text not null,
        issued_at_ms bigint not null,
        expires_at_ms bigint not null,
        revoked_at_ms bigint,
        created_by text not null,
        row_sum bigint not null
      )`,
      'create index access_certificate_user on access_certificate (user_id, issued_at_ms, serial)',
      'create index access_certificate_expiry on access_certificate (expires_at_ms)',
    ],
  },
]

/** The schema of the scoped tokens, and of people. */
export const MIGRATIONS: readonly Migration[] = [
  {
    id: '0001_token',
    up: [
      `create table access_token (
        id text primary key,
        token_sha256 text not null,
        name text not null,
        kind text not null,
        roles text not null,
        node_id text,
        node_name text,
        created_at_ms bigint not null,
        expires_at_ms bigint,
        used_at_ms bigint,
        created_by text not null,
        row_sum bigint not null
      )`,
      'create unique index access_token_sha256 on access_token (token_sha256)',
      'create index access_token_created on access_token (created_at_ms, id)',
      `create table access_token_use (
        token_id text primary key,
        last_used_at_ms bigint not null,
        row_sum bigint not null
      )`,
    ],
  },
  ...PEOPLE_MIGRATIONS,
  ...CERTIFICATE_MIGRATIONS,
  ...PASSKEY_MIGRATIONS,
  ...DERIVED_MIGRATIONS,
]
