import type { Migration } from '@steeple/contracts'

/** The record of moves, what is known of who stands where, what retention has left, and erasures under way. */
export const MIGRATIONS: readonly Migration[] = [
  {
    id: '0001_record',
    up: [
      `create table compliance_move (
        seq bigint not null primary key,
        at_ms bigint not null,
        kind text not null,
        subject text not null,
        from_state text,
        to_state text not null,
        reason text,
        how text not null,
        row_sum bigint not null
      )`,
      `create table compliance_standing (
        subject text not null primary key,
        state text not null,
        reason text,
        row_sum bigint not null
      )`,
      `create table compliance_checkpoint (
        id bigint not null primary key,
        at_ms bigint not null,
        kind text not null,
        before_ms bigint not null,
        first_id text not null,
        last_id text not null,
        removed bigint not null,
        sha256 text not null,
        signature text not null,
        row_sum bigint not null
      )`,
      `create table compliance_erasure (
        subject text not null primary key,
        asked_at_ms bigint not null,
        asked_by text not null,
        row_sum bigint not null
      )`,
    ],
  },
]
