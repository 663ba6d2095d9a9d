import type { Migration } from '@steeple/contracts'

/** The schema of operators' certificates. */
export const CERTIFICATE_MIGRATIONS: readonly Migration[] = [
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
