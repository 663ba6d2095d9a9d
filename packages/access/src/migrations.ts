import type { Migration } from '@steeple/contracts'

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
  // The schema of users, their second factor, sessions, invitations and failed logins.
  {
    id: '0002_people',
    up: [
      `create table access_user (
        id text primary key,
        name text not null,
        name_key text not null,
        roles text not null,
        password_hash text not null,
        created_at_ms bigint not null,
        created_by text not null,
        last_login_at_ms bigint,
        row_sum bigint not null
      )`,
      'create unique index access_user_name on access_user (name_key)',
      'create index access_user_created on access_user (created_at_ms, id)',
      `create table access_totp (
        user_id text primary key,
        secret bytea not null,
        last_step bigint not null,
        created_at_ms bigint not null,
        row_sum bigint not null
      )`,
      `create table access_recovery_code (
        user_id text not null,
        code_sha256 text not null,
        used_at_ms bigint,
        row_sum bigint not null,
        primary key (user_id, code_sha256)
      )`,
      `create table access_session (
        id text primary key,
        user_id text not null,
        method text not null,
        generation bigint not null,
        created_at_ms bigint not null,
        used_at_ms bigint not null,
        expires_at_ms bigint not null,
        address text not null,
        agent text not null,
        row_sum bigint not null
      )`,
      'create index access_session_user on access_session (user_id, created_at_ms)',
      'create index access_session_created on access_session (created_at_ms, id)',
      `create table access_invitation (
        id text primary key,
        token_sha256 text not null,
        name text not null,
        roles text not null,
        created_at_ms bigint not null,
        expires_at_ms bigint not null,
        created_by text not null,
        row_sum bigint not null
      )`,
      'create unique index access_invitation_sha256 on access_invitation (token_sha256)',
      `create table access_login_failure (
        network text not null,
        name_hash text not null,
        failures integer not null,
        last_at_ms bigint not null,
        row_sum bigint not null,
        primary key (network, name_hash)
      )`,
      'create index access_login_failure_name on access_login_failure (name_hash)',
      'create index access_login_failure_at on access_login_failure (last_at_ms)',
      `create table access_known_network (
        user_id text not null,
        network text not null,
        at_ms bigint not null,
        row_sum bigint not null,
        primary key (user_id, network)
      )`,
    ],
  },
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
  // Links, and which credential another one ends with.
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
  {
    id: '0006_ended_invitation',
    up: ['alter table access_invitation add column ended_at_ms bigint not null default 0'],
  },
]
