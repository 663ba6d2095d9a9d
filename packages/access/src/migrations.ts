import type { Migration } from '@steeple/contracts'
import { CERTIFICATE_MIGRATIONS } from './certificates/certificate-migrations.ts'
import { DERIVED_MIGRATIONS } from './derived/derived-migrations.ts'
import { PASSKEY_MIGRATIONS } from './passkeys/passkey-migrations.ts'
import { PEOPLE_MIGRATIONS } from './people/migrations.ts'

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
