import type { Migration } from '@steeple/contracts'

/** Tables of this plugin; see README. */
export const MIGRATIONS: readonly Migration[] = [
  {
    id: '0001_alert',
    up: [
      `create table alerts_alert (
        id text primary key,
        open_key text not null,
        rule text not null,
        severity text not null,
        subject text not null,
        state text not null,
        message text not null,
        value double precision,
        threshold double precision,
        started_at_ms bigint not null,
        since_ms bigint not null,
        fired_at_ms bigint,
        clear_since_ms bigint,
        resolved_at_ms bigint,
        updated_at_ms bigint not null,
        is_told integer not null,
        acked_by text,
        acked_at_ms bigint,
        row_sum bigint not null
      )`,
      'create unique index alerts_alert_open on alerts_alert (open_key)',
      'create index alerts_alert_started on alerts_alert (started_at_ms, id)',
      'create index alerts_alert_state on alerts_alert (state, started_at_ms, id)',
      'create index alerts_alert_resolved on alerts_alert (resolved_at_ms)',
      `create table alerts_silence (
        open_key text primary key,
        until_ms bigint not null,
        silenced_by text not null,
        row_sum bigint not null
      )`,
      `create table alerts_delivery (
        id text not null,
        target text not null,
        seq bigint not null,
        subject text not null,
        type text not null,
        body text not null,
        state text not null,
        created_at_ms bigint not null,
        give_up_from_ms bigint not null,
        next_at_ms bigint not null,
        failures integer not null,
        last_error text,
        row_sum bigint not null,
        primary key (id, target)
      )`,
      'create index alerts_delivery_turn on alerts_delivery (target, state, seq)',
      'create index alerts_delivery_subject on alerts_delivery (target, subject, seq)',
      'create index alerts_delivery_seq on alerts_delivery (seq)',
      `create table alerts_fact (
        name text primary key,
        at_ms bigint not null,
        subject text not null,
        row_sum bigint not null
      )`,
    ],
  },
  {
    id: '0002_receiver',
    up: [
      `create table alerts_receiver (
        name text primary key,
        kind text not null,
        server text not null,
        min_severity text not null,
        is_resolved_too integer not null,
        allow_private integer not null,
        link text,
        settings text not null,
        secrets_sealed bytea not null,
        row_sum bigint not null
      )`,
    ],
  },
]
