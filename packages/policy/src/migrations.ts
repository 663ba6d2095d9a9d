import type { Migration } from '@steeple/contracts'

/** The tables of this plugin. Times are ms since the epoch; JSON documents are text. */
export const MIGRATIONS: readonly Migration[] = [
  {
    id: '0001_policy',
    up: [
      `create table policy_bundle (
        revision bigint not null primary key,
        updated_at_ms bigint not null,
        updated_by text not null,
        content text not null,
        row_sum bigint not null
      )`,
      `create table policy_tx_arm (
        id integer not null primary key,
        interval_id text,
        profile_id text,
        profile text,
        country text,
        armed_at_ms bigint,
        armed_by text,
        row_sum bigint not null
      )`,
      `create table policy_tx_interval (
        id text not null primary key,
        profile_id text not null,
        profile text not null,
        country text not null,
        license_reference text,
        license_holder text,
        started_at_ms bigint not null,
        started_by text not null,
        ended_at_ms bigint,
        ended_by text,
        end_reason text,
        row_sum bigint not null
      )`,
      'create index policy_tx_interval_started on policy_tx_interval (started_at_ms)',
    ],
  },
  {
    id: '0002_radio_profiles',
    up: [
      `create table policy_radio_profile (
        id text not null primary key,
        profile text not null,
        row_sum bigint not null
      )`,
    ],
  },
  {
    id: '0003_license_documents',
    up: [
      `create table policy_license_document (
        id text not null primary key,
        sha256 text not null,
        media_type text not null,
        octets bigint not null,
        license_reference text not null,
        license_holder text,
        attached_at_ms bigint not null,
        attached_by text not null,
        ended_at_ms bigint,
        ended_by text,
        row_sum bigint not null
      )`,
      `create table policy_license_content (
        sha256 text not null,
        part integer not null,
        content bytea not null,
        row_sum bigint not null,
        primary key (sha256, part)
      )`,
    ],
  },
  {
    id: '0004_signed_license',
    up: [
      `create table policy_signed_license (
        id bigint not null primary key,
        license text not null,
        signature text not null,
        signed_by text not null,
        issued_at_ms bigint not null,
        taken_at_ms bigint not null,
        row_sum bigint not null
      )`,
    ],
  },
]
