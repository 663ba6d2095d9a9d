import type { Migration } from '@steeple/contracts'

/**
 * The schema: what the home keeps (reach, box, lease, count), what the visited box keeps (visitor, ended, mark, key), and stays at
 * both. */
export const MIGRATIONS: readonly Migration[] = [
  {
    id: '0001_roaming',
    up: [
      `create table roaming_reach (
        hash text primary key,
        reach text not null,
        boxes text not null,
        row_sum bigint not null
      )`,
      `create table roaming_box (
        node_id text primary key,
        name text not null,
        permitted_at_ms bigint,
        key_id text,
        key_x text,
        heard_at_ms bigint,
        problem text,
        row_sum bigint not null
      )`,
      `create table roaming_lease (
        hash text not null,
        node_id text not null,
        ind integer not null,
        seq bigint not null,
        revision bigint not null,
        told_revision bigint not null,
        wanted text not null,
        generation bigint not null,
        needs_keys integer not null,
        granted_at_ms bigint not null,
        until_ms bigint,
        renew_at_ms bigint not null,
        problem text,
        visit text,
        up_bytes bigint not null,
        down_bytes bigint not null,
        row_sum bigint not null,
        primary key (hash, node_id)
      )`,
      `create table roaming_call (
        hash text not null,
        node_id text not null,
        at_ms bigint not null,
        row_sum bigint not null,
        primary key (hash, node_id)
      )`,
      `create table roaming_count (
        node_id text not null,
        visit text not null,
        hash text not null,
        up_bytes bigint not null,
        down_bytes bigint not null,
        is_over integer not null,
        row_sum bigint not null,
        primary key (node_id, visit)
      )`,
      'create index roaming_lease_due on roaming_lease (node_id, renew_at_ms)',
      `create table roaming_visitor (
        hash text primary key,
        home_id text not null,
        home_name text not null,
        revision bigint not null,
        wanted text not null,
        ind integer not null,
        seq bigint not null,
        sealed bytea not null,
        until_ms bigint not null,
        since_ms bigint not null,
        inserted_at_ms bigint,
        done text,
        visit text not null,
        base_up_bytes bigint not null,
        base_down_bytes bigint not null,
        limit_bytes bigint,
        is_over integer not null,
        row_sum bigint not null
      )`,
      'create index roaming_visitor_until on roaming_visitor (until_ms)',
      'create index roaming_visitor_home on roaming_visitor (home_id, hash)',
      `create table roaming_ended (
        hash text not null,
        home_id text not null,
        visit text not null,
        since_ms bigint not null,
        base_up_bytes bigint not null,
        base_down_bytes bigint not null,
        ended_at_ms bigint not null,
        row_sum bigint not null,
        primary key (hash, home_id)
      )`,
      `create table roaming_mark (
        hash text primary key,
        ind integer not null,
        seq bigint not null,
        row_sum bigint not null
      )`,
      `create table roaming_key (
        id text primary key,
        x text not null,
        private_sealed bytea not null,
        row_sum bigint not null
      )`,
    ],
  },
  {
    id: '0002_stays',
    up: [
      `create table roaming_stay (
        node_id text not null,
        id text not null,
        node_name text not null,
        home_id text not null,
        home_name text not null,
        hash text not null,
        began_at_ms bigint not null,
        seen_at_ms bigint not null,
        is_over integer not null,
        revision bigint not null,
        row_sum bigint not null,
        primary key (node_id, id)
      )`,
      'create index roaming_stay_told on roaming_stay (node_id, home_id, revision)',
      'create index roaming_stay_began on roaming_stay (began_at_ms, node_id, id)',
      'create index roaming_stay_seen on roaming_stay (is_over, seen_at_ms)',
      'create index roaming_call_at on roaming_call (at_ms)',
      'alter table roaming_box add column stays_after bigint',
    ],
  },
]
