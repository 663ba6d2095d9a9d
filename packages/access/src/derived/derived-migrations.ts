import type { Migration } from '@steeple/contracts'

/** Links, and which credential another one ends with. */
export const DERIVED_MIGRATIONS: readonly Migration[] = [
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
