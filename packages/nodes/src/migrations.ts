import type { Migration } from '@steeple/contracts'

/** The schema of node records, heartbeats and degraded overlays. */
export const MIGRATIONS: readonly Migration[] = [
  {
    id: '0001_node',
    up: [
      `create table nodes_node (
        node_id text primary key,
        name text not null,
        state text not null,
        state_since_ms bigint not null,
        created_at_ms bigint not null,
        enrolled_at_ms bigint,
        certificate_expires_at_ms bigint,
        left_at_ms bigint,
        row_sum bigint not null
      )`,
      'create index nodes_node_created on nodes_node (created_at_ms, node_id)',
      `create table nodes_heartbeat (
        node_id text primary key,
        seq bigint not null,
        at_ms bigint not null,
        received_at_ms bigint not null,
        fresh_since_ms bigint not null,
        interval_ms bigint not null,
        components text not null,
        counters text not null,
        versions text not null,
        row_sum bigint not null
      )`,
      'create index nodes_heartbeat_received on nodes_heartbeat (received_at_ms, node_id)',
      `create table nodes_overlay (
        node_id text primary key,
        reason text not null,
        since_ms bigint not null,
        row_sum bigint not null
      )`,
    ],
  },
  {
    id: '0002_forced',
    up: [
      `create table nodes_forced (
        node_id text primary key,
        state text not null,
        since_ms bigint not null,
        row_sum bigint not null
      )`,
    ],
  },
  {
    id: '0003_heartbeat_node',
    up: ['alter table nodes_heartbeat add column node text'],
  },
]
