import type { Migration } from '@steeple/contracts'

/** The schema: what a hub keeps (group, invited, document, report, rollout) and what a box keeps (permit, desired, part, software). */
export const MIGRATIONS: readonly Migration[] = [
  {
    id: '0001_groups',
    up: [
      `create table groups_group (
        name text primary key,
        rank integer not null,
        members text not null,
        state text not null,
        updated_at_ms bigint not null,
        updated_by text not null,
        row_sum bigint not null
      )`,
      `create table groups_document (
        node_id text primary key,
        version bigint not null,
        content text not null,
        document text not null,
        row_sum bigint not null
      )`,
      `create table groups_report (
        node_id text primary key,
        at_ms bigint not null,
        report text not null,
        row_sum bigint not null
      )`,
      `create table groups_permit (
        id integer primary key,
        hub_id text not null,
        ca_sha256 text not null,
        parts text not null,
        at_ms bigint not null,
        row_sum bigint not null
      )`,
      `create table groups_desired (
        id integer primary key,
        hub_id text not null,
        ca_sha256 text not null,
        version bigint not null,
        document text not null,
        taken_at_ms bigint not null,
        row_sum bigint not null
      )`,
      `create table groups_part (
        part text primary key,
        version bigint not null,
        status text not null,
        problems text not null,
        row_sum bigint not null
      )`,
    ],
  },
  {
    id: '0002_software',
    up: [
      `create table groups_software (
        id integer primary key,
        build text not null,
        terms text not null,
        status text not null,
        problem text,
        at_ms bigint not null,
        went_back text not null,
        row_sum bigint not null
      )`,
    ],
  },
  {
    id: '0003_rollouts',
    up: [
      `create table groups_rollout (
        build text primary key,
        stage text not null,
        given text not null,
        well_since_ms bigint,
        stopped_by text,
        row_sum bigint not null
      )`,
    ],
  },
  {
    id: '0004_invited',
    up: [
      `create table groups_invited (
        group_name text not null,
        name text not null,
        roles text not null,
        tokens text not null,
        expires_at_ms bigint not null,
        withdrawn_at_ms bigint not null,
        row_sum bigint not null,
        primary key (group_name, name)
      )`,
    ],
  },
]
