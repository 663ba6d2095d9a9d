import type { Migration } from '@steeple/contracts'

/** The schema of the subscribers and of the batches they were issued in. */
export const MIGRATIONS: readonly Migration[] = [
  {
    id: '0001_sim',
    up: [
      `create table sims_sim (
        hash text primary key,
        plmn text not null,
        profile text not null,
        state text not null,
        previous_state text,
        suspend_reason text,
        apns text not null,
        downlink_bps bigint not null,
        uplink_bps bigint not null,
        quota_bytes bigint,
        usage_bytes bigint not null,
        msisdn text,
        label text,
        batch_id text,
        iccid_last4 text,
        issued_at_ms bigint not null,
        expires_at_ms bigint not null,
        attached_at_ms bigint,
        swapped_at_ms bigint,
        replaces text,
        generation bigint not null,
        imsi_sealed bytea not null,
        secrets_sealed bytea not null,
        hss_status text not null,
        hss_driver text,
        hss_error text,
        hss_synced_at_ms bigint,
        hss_seq bigint not null,
        row_sum bigint not null
      )`,
      'create index sims_sim_issued on sims_sim (issued_at_ms, hash)',
      'create index sims_sim_state on sims_sim (state, issued_at_ms, hash)',
      'create index sims_sim_batch on sims_sim (batch_id, issued_at_ms, hash)',
      'create index sims_sim_label on sims_sim (label, issued_at_ms, hash)',
      'create index sims_sim_profile on sims_sim (profile, issued_at_ms, hash)',
      'create index sims_sim_expiry on sims_sim (state, expires_at_ms)',
      'create index sims_sim_hss on sims_sim (hss_status, hss_driver, state, hash)',
      `create table sims_batch (
        id text primary key,
        created_at_ms bigint not null,
        sims integer not null,
        profile text not null,
        plmn text not null,
        label text,
        key_sealed bytea not null,
        row_sum bigint not null
      )`,
      'create index sims_batch_created on sims_batch (created_at_ms, id)',
    ],
  },
  {
    id: '0002_batch_files',
    up: [
      'alter table sims_batch add column files_at_ms bigint',
      'create index sims_batch_files on sims_batch (files_at_ms, id)',
    ],
  },
  {
    id: '0003_last_attached',
    up: ['create index sims_sim_attached on sims_sim (attached_at_ms)'],
  },
  {
    id: '0004_iccid',
    up: ['create index sims_sim_iccid on sims_sim (iccid_last4)'],
  },
  {
    id: '0005_seen',
    // Observed, and no part of a SIM's checksummed row: it is written for many phones at once.
    up: ['create table sims_seen (hash text primary key, seen_at_ms bigint not null)'],
  },
  {
    id: '0006_words',
    // What people search by: words of labels and numbers. Derived from the rows; a marker says that it is complete.
    up: [
      'create table sims_word (hash text not null, word text not null, primary key (hash, word))',
      'create index sims_word_word on sims_word (word, hash)',
      'create table sims_index (name text primary key)',
    ],
  },
  {
    id: '0007_iccid_mac',
    up: [
      'alter table sims_sim add column iccid_mac bytea',
      // Serves the last digits as well, so that each new card is written into one index of ICCIDs and not into two.
      'create index sims_sim_iccid_mac on sims_sim (iccid_last4, iccid_mac)',
      'drop index if exists sims_sim_iccid',
      `create table sims_iccid_index (
        id text primary key,
        key_sealed bytea not null,
        indexed_to text not null,
        row_sum bigint not null
      )`,
      'alter table sims_batch add column issued_by text',
      `create table sims_import (
        id text primary key,
        started_at_ms bigint not null,
        principal text not null,
        request_id text not null,
        row_sum bigint not null
      )`,
    ],
  },
  {
    id: '0008_rates',
    up: [
      'alter table sims_sim add column cap_bps bigint',
      'alter table sims_sim add column reach text',
      'create index sims_sim_reach on sims_sim (reach) where reach is not null',
      'create index sims_sim_quota on sims_sim (hash) where quota_bytes is not null',
    ],
  },
  {
    id: '0009_attaches',
    up: [
      'create table sims_attach_position (core text primary key, position text not null)',
      'create table sims_attach_total (plmn text primary key, attaches bigint not null)',
    ],
  },
  {
    id: '0010_indexes_in_order',
    // In the order in which rows are added, so that those of an import share pages: by hash each changed a page of its own.
    // What few rows have is indexed for those alone.
    up: [
      'create index sims_sim_waiting on sims_sim (hss_status, hss_driver, issued_at_ms, hash, state)',
      'drop index if exists sims_sim_hss',
      'create index sims_sim_labelled on sims_sim (label, issued_at_ms, hash) where label is not null',
      'drop index if exists sims_sim_label',
      'create index sims_sim_first_attached on sims_sim (attached_at_ms) where attached_at_ms is not null',
      'drop index if exists sims_sim_attached',
    ],
  },
  {
    id: '0011_card_blocks',
    // By the block of a card and not by its last digits, so that the cards of a delivery share pages.
    up: [
      'create index sims_sim_card on sims_sim (iccid_mac, iccid_last4)',
      'drop index if exists sims_sim_iccid_mac',
    ],
  },
  {
    id: '0012_card_ends',
    // The last digits of a card, which people search by: without it a search reads the whole index of blocks.
    up: [
      'create index sims_sim_card_end on sims_sim (iccid_last4) where iccid_last4 is not null',
      'drop index if exists sims_batch_files',
    ],
  },
  {
    id: '0013_as_it_is',
    up: [
      'alter table sims_sim add column as_is text',
      // Those of another network than the one that is configured are few or none.
      'create index sims_sim_plmn on sims_sim (plmn)',
    ],
  },
  {
    id: '0014_sorted',
    // What a list is sorted by; the state has its own index already.
    up: [
      'create index sims_sim_by_label on sims_sim (lower(label), issued_at_ms, hash) where label is not null',
      'create index sims_sim_by_expiry on sims_sim (expires_at_ms, issued_at_ms, hash)',
    ],
  },
  {
    id: '0015_found',
    up: ['alter table sims_sim add column found_sealed bytea'],
  },
]
