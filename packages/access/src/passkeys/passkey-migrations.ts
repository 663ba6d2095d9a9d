import type { Migration } from '@steeple/contracts'

/** The schema of passkeys. */
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
