import type { Migration } from '@steeple/contracts'

/** The schema of users, their second factor, sessions, invitations and failed logins. */
export const PEOPLE_MIGRATIONS: readonly Migration[] = [
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
]
