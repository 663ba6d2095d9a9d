import type { Migration } from '@steeple/contracts'

/** Tables of this plugin; see README. */
export const MIGRATIONS: readonly Migration[] = [
  {
    id: '0001_quota',
    up: [
      `create table fair_use_quota (
        hash text primary key,
        quota_bytes bigint not null,
        period text not null,
        action text not null,
        throttle_bps bigint,
        since_ms bigint not null,
        first_ms bigint not null,
        base_up_bytes bigint not null,
        base_down_bytes bigint not null,
        added_bytes bigint not null,
        added_from_ms bigint,
        free_from_ms bigint,
        row_sum bigint not null
      )`,
      `create table fair_use_used (
        hash text not null,
        kind text not null,
        starts_at_ms bigint not null,
        up_bytes bigint not null,
        down_bytes bigint not null,
        is_incomplete integer not null,
        updated_at_ms bigint not null,
        primary key (hash, kind, starts_at_ms)
      )`,
      'create index fair_use_used_start on fair_use_used (kind, starts_at_ms)',
      `create table fair_use_standing (
        hash text primary key,
        counted text not null,
        warned text,
        exceeded text,
        held text,
        held_from_ms bigint,
        held_bps bigint
      )`,
      'create table fair_use_epoch (id text primary key, epoch text not null)',
      `create table fair_use_report (
        hash text not null,
        report_id text not null,
        source text not null,
        up_bytes bigint not null,
        down_bytes bigint not null,
        taken_at_ms bigint not null,
        primary key (hash, report_id)
      )`,
      'create index fair_use_report_taken on fair_use_report (taken_at_ms)',
    ],
  },
]
